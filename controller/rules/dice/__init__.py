"""Judging a throw of two dice: `judge_throw`."""

from controller.rules.dice.judge import judge_throw

__all__ = ["judge_throw"]
