"""Tokens: who may call the HTTP API. Only their digests are kept; a token is shown once, when it is made."""

from hashlib import sha256

from sqlalchemy import select, update

from controller.settlement_service import schema
from controller.settlement_service.access import Role
from controller.settlement_service.desk import Caller, need_account
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import RequestRefused

TOKEN_BYTES = 32
"""Random bytes in a token; a digest of that many needs no salt and no slow hash."""


class Tokens:
    """The tokens of one settlement database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def make(self, name: str, role: Role, secret: str, player: str | None = None) -> None:
        """Keep the digest of a new secret; raises RequestRefused for a name in use or a player unknown."""
        if (role == "player") != (player is not None):
            raise RequestRefused("TOKEN", "a player's token names its player, and no other token does")
        with self._engine.work() as work:
            tokens = schema.tokens
            if work.connection.execute(select(tokens.c.name).where(tokens.c.name == name)).first():
                raise RequestRefused("TOKEN", f"a token named {name} was made before; give another name")
            if player is not None:
                need_account(work, player)
            work.add(
                tokens, name=name, digest=digest_of(secret), role=role, player=player, made_us=work.now_us
            )

    def revoke(self, name: str) -> None:
        """Revoke a token; raises RequestRefused where there is none of this name."""
        tokens = schema.tokens
        with self._engine.work() as work:
            change = update(tokens).where(tokens.c.name == name, tokens.c.revoked_us.is_(None))
            if not work.connection.execute(change.values(revoked_us=work.now_us)).rowcount:
                raise RequestRefused("TOKEN", f"no token named {name} is valid")

    def caller(self, digest: str) -> Caller | None:
        """Return whose token has this digest; None where it opens nothing."""
        tokens = schema.tokens
        query = select(tokens).where(tokens.c.digest == digest, tokens.c.revoked_us.is_(None))
        with self._engine.work() as work:
            row = work.connection.execute(query).first()
        return None if row is None else Caller(name=row.name, role=row.role, player=row.player)

    def listed(self) -> list[tuple[str, str, str | None, bool]]:
        """Return every token's name, role and player, and whether it is valid."""
        tokens = schema.tokens
        with self._engine.work() as work:
            rows = work.connection.execute(select(tokens).order_by(tokens.c.made_us)).all()
        return [(row.name, row.role, row.player, row.revoked_us is None) for row in rows]


def digest_of(secret: str) -> str:
    """Return what is kept of a token."""
    return sha256(secret.encode()).hexdigest()
