import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { until } from '../../faults/support/watch';
import { type GatewayModules, loadGatewayModule } from './gateway-modules';
import { openDoor, type ServiceDoor } from './service-door';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

const ME = '/api/v1/me';
const HEALTH = '/api/v1/health';
/** More than the requests that are served at a time, and than those of strangers of one address. */
const STRANGERS = 1_100;
/** Lookups of keys that were never seen: those of one address are three eighths of 128. */
const LOOKUPS_OF_ONE_ADDRESS = 48;

describe('Callers whom the gateway does not know', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let door: ServiceDoor;
  let gateway: StartedGateway;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_request, response) => sendJson(response, { done: true }));
    door = await openDoor(stage.app.url);
    const members = { credentials: [VENDOR_CREDENTIAL], routes: [route('POST /write/:id', 'write')] };
    gateway = await startGateway(stage, { vendor: { url: upstream.url, ...members } }, { file: { service: door.url } });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await door.close();
    await stage.close();
  });

  /** Counts the requests for a path of the service, which are held until the function that it returns is called. */
  function hold(path: string): { count: number; release: () => void } {
    const held = { count: 0, release: (): void => undefined };
    const turn = new Promise<void>((resolve) => (held.release = resolve));
    door.turnOf = async (url) => {
      if (url !== path) return;
      held.count += 1;
      await turn;
    };
    return held;
  }

  async function request(path: string, key: string, localAddress = '127.0.0.1'): Promise<Socket> {
    const { hostname, port, host } = new URL(gateway.url);
    const socket = connect({ port: Number(port), host: hostname, localAddress }).on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n\r\n`);
    return socket;
  }

  it('keep no slot from those whom it knows, and few requests to the service', async () => {
    expect((await gateway.call('/vendor/write/1', { json: {} })).status).toBe(200);
    const held = hold(ME);
    const first = await request('/vendor/write/2', 'k0');
    for (let index = 1; index < STRANGERS; index += 1) await request('/vendor/write/2', `k${index}`);
    await until('the service is asked about strangers', () => held.count >= LOOKUPS_OF_ONE_ADDRESS);
    // The gateway has read what was sent before this.
    expect((await gateway.call('/nothing')).status).toBe(404);
    expect((await gateway.call('/vendor/write/3', { json: {} })).status).toBe(200);
    expect(held.count).toBe(LOOKUPS_OF_ONE_ADDRESS);
    await request('/vendor/write/4', 'other', '127.0.0.2');
    await until('a stranger of another address has its turn', () => held.count === LOOKUPS_OF_ONE_ADDRESS + 1);
    held.release();
    const [answer] = (await once(first, 'data')) as [Buffer];
    expect(answer.toString()).toContain('HTTP/1.1 401 ');
    for (const socket of sockets) socket.destroy();
  });

  it('share a check of the health of the service', async () => {
    const held = hold(HEALTH);
    const answers = Array.from({ length: 20 }, () => gateway.call('/-/health'));
    await until('the service is asked', () => held.count > 0);
    expect((await gateway.call('/nothing')).status).toBe(404);
    held.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(held.count).toBeLessThan(answers.length);
  });
});

describe('Lookups of keys', () => {
  type KnownCallers = InstanceType<GatewayModules['calls/known-callers']['KnownCallers']>;
  type CallerService = Parameters<KnownCallers['require']>[1];
  const me = { agentId: 'agt_1', actor: { type: 'api_key', id: 'key_1' }, scopes: ['execute'] };
  let callers: KnownCallers;
  let lookups: ((answer: typeof me) => void)[];

  beforeEach(async () => {
    const { KnownCallers } = await loadGatewayModule('calls/known-callers');
    callers = new KnownCallers();
    lookups = [];
  });

  async function lookUp(key: string, address: string): Promise<unknown> {
    const service = { me: () => new Promise((resolve) => lookups.push(resolve)) } as unknown as CallerService;
    const caller = { key, address, traceparent: null };
    return callers.require(caller, service, new AbortController().signal);
  }

  it.each([
    ['of one network of IPv6', (index: number) => `2001:db8::${index.toString(16)}`],
    ['of one address of IPv4, in both notations', (index: number) => `${index % 2 === 0 ? '' : '::ffff:'}198.51.100.1`],
  ])('leave room for others than those %s', async (_what, addressOf) => {
    const own = Array.from({ length: 2 * LOOKUPS_OF_ONE_ADDRESS }, (_, index) => lookUp(`k${index}`, addressOf(index)));
    await until('one client has its share', () => lookups.length === LOOKUPS_OF_ONE_ADDRESS);
    const other = lookUp('other', '2001:db8:1::1');
    await until('another one has its turn', () => lookups.length === LOOKUPS_OF_ONE_ADDRESS + 1);
    lookups.at(-1)?.(me);
    expect(await other).toMatchObject({ agentId: 'agt_1' });
    const ended = Promise.all(own);
    for (const answer of lookups) answer(me);
    await until('those that waited have theirs', () => lookups.length === 2 * LOOKUPS_OF_ONE_ADDRESS + 1);
    for (const answer of lookups) answer(me);
    expect(await ended).toHaveLength(2 * LOOKUPS_OF_ONE_ADDRESS);
  });

  it('that were running when keys may have ended are made again', async () => {
    const before = lookUp('k', '198.51.100.1');
    await until('the service is asked', () => lookups.length === 1);
    callers.clear();
    lookups[0]?.(me);
    await before;
    const after = lookUp('k', '198.51.100.1');
    await until('the service is asked again', () => lookups.length === 2);
    lookups[1]?.(me);
    await after;
    expect(await lookUp('k', '198.51.100.1')).toMatchObject({ agentId: 'agt_1' });
    expect(lookups).toHaveLength(2);
  });
});
