"""Device facts as a GPU's own driver gives them, for tests that have no GPU."""

UUID = "c0ffee00" * 4
DRIVER = "580.65.06"
FACTS = {"kind": "cuda", "name": "NVIDIA H100", "driver": DRIVER, "arch": "sm_90", "uuid": UUID}
