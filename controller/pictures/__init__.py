"""Pictures of what was judged: a throw's plan, a spin's course, a deal's hands."""
