from tests.servers.calling import call, fail
from servers.issues import mcp

def test_smoke(database):
    a={"repo":"acme/web","title":"Hi","idempotency_key":"k"*8,"labels":["bug"]}
    first=call(mcp,"create_issue",a)
    assert call(mcp,"create_issue",a)["issue"]==first["issue"]
    assert fail(mcp,"create_issue",a|{"title":"x"})["errorCategory"]=="business"
