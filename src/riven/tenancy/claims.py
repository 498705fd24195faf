"""What a token says, and who can tell whether it is good: `oidc`, which only installations with an issuer load."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token that was found good says."""

    subject: str
    name: str
    seconds_left: float


class TokenVerifier(Protocol):
    async def verify(self, token: str) -> Claims:
        """Raises UnauthenticatedError, or AwayError while it cannot be told."""

    async def close(self) -> None: ...
