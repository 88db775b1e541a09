import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { type StandIn, startStandIn } from './stand-in';

/**
 * Of one connection, or spoken for the vendor's address, followed by what stands before the gateway, or said by this
 * product alone.
 */
const DROPPED = [
  ...['Proxy-Authenticate', 'Trailer', 'X-Named', 'Set-Cookie', 'Set-Cookie2', 'WWW-Authenticate', 'Alt-Svc'],
  ...['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers', 'Strict-Transport-Security', 'Public-Key-Pins'],
  ...['Expect-CT', 'Clear-Site-Data', 'Service-Worker-Allowed', 'Origin-Agent-Cluster', 'NEL', 'Report-To'],
  ...['Reporting-Endpoints', 'Refresh', 'SourceMap', 'X-SourceMap', 'CDN-Cache-Control', 'Surrogate-Control', 'Pragma'],
  ...['Expires', 'Age', 'X-Accel-Redirect', 'X-Accel-Expires', 'X-Sendfile', 'X-Lighttpd-Send-File', 'X-Reproxy-URL'],
  ...['Governance-Execution-Id'],
];

describe('The headers of an answer', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => {
      for (const name of DROPPED) response.setHeader(name, 'x');
      response.setHeader('Connection', 'close, X-Named');
      response.setHeader('Cache-Control', 'public, max-age=60');
      response.setHeader('Location', `${upstream.url}/charges/2`);
      response.setHeader('Content-Location', 'https://elsewhere.example/charges/2');
      response.setHeader(
        'Link',
        `<${upstream.url}/charges?page=2>; rel="next", <https://elsewhere.example/>; rel="last"`,
      );
      response.setHeader('X-Request-Id', 'req_1');
      response.writeHead(201, { 'Content-Type': 'text/plain', Vary: 'Accept' }).end('done');
    });
    const routes = [route('GET /charges/:id', 'read')];
    gateway = await startGateway(stage, { vendor: { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  it('go on, but for those that are not meant for the caller', async () => {
    const { status, headers, text } = await gateway.call('/vendor/charges/1');
    expect([status, text]).toEqual([201, 'done']);
    expect(DROPPED.filter((name) => headers.has(name))).toEqual([]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'private, no-store',
      'content-type': 'text/plain',
      link: `<${gateway.url}/vendor/charges?page=2>; rel="next"`,
      location: `${gateway.url}/vendor/charges/2`,
      vary: 'Accept',
      'x-request-id': 'req_1',
    });
    expect(headers.get('content-location')).toBeNull();
  });
});
