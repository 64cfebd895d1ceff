"""`params.yaml: training.divergence`."""

from pydantic import BaseModel, ConfigDict, Field


class Divergence(BaseModel):
    """Beyond which values training is given up. Wide on purpose: a run that learns at all comes nowhere near them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    energy: float = Field(
        1e6, gt=0, description="largest size of an energy: single precision rounds it to a sixteenth of a nat there"
    )
    gradient: float = Field(1e6, gt=0, description="largest mean norm of ∇E along training chains")
    flat: float = Field(
        0.5, ge=0, description="E = c: no two log-densities of a step differ by more, for a tenth of the budget"
    )
    gap: float = Field(
        10.0, gt=0, description="nats per coordinate that valid chains may end above or below the data, for as long"
    )
