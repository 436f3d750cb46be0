"""Contract suites for those who write an engine, a search or an embedder, and fakes for those who test with one.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path): ...

The suites need pytest; the fakes need only numpy.
"""
