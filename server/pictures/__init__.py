"""Pictures in the sizes and formats that pages ask for."""
