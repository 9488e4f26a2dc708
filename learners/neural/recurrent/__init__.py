"""Networks that go through sequences step by step: recurrent and time-delay networks."""
