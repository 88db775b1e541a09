import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../faults/support/watch';
import { createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { openDoor, type ServiceDoor } from './service-door';
import {
  bearer,
  type GatewayAnswer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

describe('What the gateway asks its service', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let door: ServiceDoor;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((request, response) => {
      if (/^\/(?:refund\/)?breaks/.test(request.url)) response.socket?.resetAndDestroy();
      else sendJson(response, { done: true });
    });
    door = await openDoor(stage.app.url);
    const routes = [
      route('GET,HEAD /looked/:id', 'read', { record: false }),
      route('GET /forbidden/:id', 'delete', { record: false }),
      route('GET /approved/:id', 'refund', { record: false }),
      route('POST /refund/:id', 'refund'),
      route('POST /:kind/:id', 'write'),
    ];
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes };
    gateway = await startGateway(stage, { vendor }, { file: { service: door.url } });
  });
  afterEach(() => {
    door.faultFor = () => null;
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await door.close();
    await stage.close();
  });

  const keyed = (key: string, repeat?: string): Record<string, string> => ({
    'Idempotency-Key': key,
    ...(repeat !== undefined && { 'Governance-Repeat': repeat }),
  });

  describe('of a route that is only evaluated', () => {
    it('leaves no record where it is allowed', async () => {
      const { status, text } = await gateway.call('/vendor/looked/1');
      expect([status, text]).toEqual([200, '{"done":true}']);
      expect((await gateway.call('/vendor/looked/1', { method: 'HEAD' })).status).toBe(200);
      expect(upstream.below('/looked/')).toHaveLength(2);
      expect(await stage.executions('&resourceId=looked/1')).toEqual([]);
    });

    it.each([
      ['is denied', 'forbidden', 'no_policy_allows'],
      ['needs an approval, of which nothing is proposed', 'approved', 'approval_required'],
    ])('sends nothing where it %s', async (_, kind, reason) => {
      const { status, error } = await gateway.call(`/vendor/${kind}/1`);
      expect([status, error?.reason, error?.executionId]).toEqual([403, reason, undefined]);
      expect(upstream.below(`/${kind}/`)).toHaveLength(0);
      expect(await stage.executions(`&resourceId=${kind}/1`)).toEqual([]);
    });

    it('leaves a record where it is allowed only because the agent is observed', async () => {
      const observe = async (observeUntil: string | null): Promise<number> =>
        (await send(stage.app, 'PATCH', `/api/v1/agents/${stage.agentId}`, { body: { observeUntil } })).status;
      expect(await observe(new Date(Date.now() + 600_000).toISOString())).toBe(200);
      const paths = ['forbidden/observed', 'looked/observed'];
      for (const path of paths) expect((await gateway.call(`/vendor/${path}`)).status).toBe(200);
      expect(await observe(null)).toBe(200);
      const records = await stage.executions();
      const [record, ...others] = records.filter(({ resourceId }) => paths.includes(resourceId));
      expect([record, others]).toMatchObject([{ resourceId: 'forbidden/observed', via: 'vendor', observed: true }, []]);
      expect((await stage.ended(String(record?.id))).outcome).toBe('executed');
    });
  });

  describe('for an agent that reaches only the gateway', () => {
    async function propose(id: string): Promise<{ id: string; decisionId: string }> {
      const { status, error } = await gateway.call(`/vendor/refund/${id}`, { json: {} });
      expect([status, error?.reason]).toEqual([403, 'approval_required']);
      return { id: String(error?.executionId), decisionId: String(error?.decisionId) };
    }

    it('is how an execution stands, and waits for its decision', async () => {
      const proposed = await propose('waited');
      const path = `/-/executions/${proposed.id}`;
      expect(JSON.parse((await gateway.call(path)).text)).toMatchObject({ outcome: 'pending_approval' });
      const waiting = gateway.call(`${path}?wait=30`);
      await stage.approve(proposed.decisionId);
      expect(JSON.parse((await waiting).text)).toMatchObject({ id: proposed.id, outcome: 'approved' });
      expect((await gateway.call('/vendor/refund/waited', { json: {} })).status).toBe(200);
      expect(upstream.below('/refund/waited')).toHaveLength(1);
    });

    it('is a cancellation', async () => {
      const { id } = await propose('cancelled');
      const { status, text } = await gateway.call(`/-/executions/${id}/cancel`, { json: { reason: 'a test' } });
      expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ id, outcome: 'cancelled' })]);
      expect((await stage.execution(id)).outcome).toBe('cancelled');
    });

    it.each([
      ['GET', '/-/executions/exe_unknown', 404],
      ['GET', '/-/executions/exe_unknown/cancel', 404],
      ['POST', '/-/executions/../agents', 404],
      ['GET', '/-/agents', 404],
    ])('is nothing else: %s %s', async (method, path, status) => {
      expect((await gateway.call(path, { method })).status).toBe(status);
    });

    it('is nothing without a key', async () => {
      const { id } = await propose('keyless');
      const response = await fetch(`${gateway.url}/-/executions/${id}`);
      expect(response.status).toBe(401);
    });
  });

  describe("with a client's Idempotency-Key", () => {
    it('is sent once', async () => {
      const request = { json: { amount: 1 }, headers: keyed('once') };
      expect((await gateway.call('/vendor/keyed/1', request)).status).toBe(200);
      const { status, error, headers } = await gateway.call('/vendor/keyed/1', request);
      expect([status, error?.reason, headers.get('x-should-retry')]).toEqual([422, 'already_sent', 'false']);
      expect(upstream.below('/keyed/1')).toHaveLength(1);
      // Another path is another request.
      expect((await gateway.call('/vendor/keyed/2', request)).status).toBe(200);
    });

    it.each(['policies require an approval', 'its grant has ended'])('is sent once, also when %s', async (change) => {
      const id = change.replaceAll(' ', '-');
      const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', uses: 5 } };
      const requireApproval = (): Promise<unknown> =>
        createPolicy(stage.app, { effect: 'require_approval', resources: [`changed/${id}`], approval });
      const call = (key: string): Promise<GatewayAnswer> =>
        gateway.call(`/vendor/changed/${id}`, { json: { amount: 1 }, headers: keyed(key) });
      const grantOf = async (key: string): Promise<string> => {
        const decisionId = String((await call(key)).error?.decisionId);
        const path = `/api/v1/decisions/${decisionId}/approve`;
        await send(stage.app, 'POST', path, { body: { approverId: 'ann', grant: approval.grant } });
        const [grant] = (await send(stage.app, 'GET', `/api/v1/grants?decisionId=${decisionId}`)).body.data;
        expect((await call(key)).status).toBe(200);
        return grant.id;
      };
      const isGranted = change === 'its grant has ended';
      if (isGranted) await requireApproval();
      const grant = isGranted ? await grantOf(`${id}-asked`) : null;
      expect((await call(id)).status).toBe(200);
      if (grant === null) await requireApproval();
      else expect((await send(stage.app, 'POST', `/api/v1/grants/${grant}/revoke`)).status).toBe(200);
      // Another request has a grant that would cover this one.
      await grantOf(`${id}-again`);
      const sent = upstream.below(`/changed/${id}`).length;
      for (let times = 0; times < 2; times += 1) {
        const { status, error } = await call(id);
        expect([status, error?.reason]).toEqual([422, 'already_sent']);
      }
      expect(upstream.below(`/changed/${id}`)).toHaveLength(sent);
    });

    it('passes with the same key once Governance-Repeat accepts the unknown outcome', async () => {
      const first = await gateway.call('/vendor/breaks/1', { json: {}, headers: keyed('first') });
      const id = String(first.error?.executionId);
      expect(await stage.ended(id)).toMatchObject({ reason: 'outcome_unknown' });
      const request = { json: {}, headers: keyed('second') };
      const refused = await gateway.call('/vendor/breaks/1', request);
      expect([refused.status, refused.error?.reason]).toEqual([422, 'outcome_unknown']);
      expect(upstream.below('/breaks/1')).toHaveLength(1);
      const repeat = { json: {}, headers: keyed('second', id) };
      const lifted = await gateway.call('/vendor/breaks/1', repeat);
      expect(upstream.below('/breaks/1')).toHaveLength(2);
      await stage.ended(String(lifted.error?.executionId));
      // It was sent under this key.
      const again = await gateway.call('/vendor/breaks/1', repeat);
      expect([again.status, again.error?.reason]).toEqual([422, 'already_sent']);
      expect(upstream.below('/breaks/1')).toHaveLength(2);
      const ofSecond = keyed('second', String(lifted.error?.executionId));
      await gateway.call('/vendor/breaks/1', { json: {}, headers: ofSecond });
      expect(upstream.below('/breaks/1')).toHaveLength(3);
    });
  });

  it.each<[string, Record<string, string>]>([
    ['a key of the gateway', {}],
    ["a client's Idempotency-Key", keyed('approved')],
  ])('passes by another approval once Governance-Repeat accepts the unknown outcome (%s)', async (what, key) => {
    const path = `/vendor/refund/breaks-${what.length}`;
    const ask = (headers: Record<string, string>): Promise<GatewayAnswer> =>
      gateway.call(path, { json: {}, headers: { ...key, ...headers } });
    const approved = async (headers: Record<string, string>): Promise<GatewayAnswer> => {
      const { error } = await ask(headers);
      expect(error?.reason).toBe('approval_required');
      await stage.approve(String(error?.decisionId));
      return ask(headers);
    };
    const first = await approved({});
    expect(first.error?.reason).toBe('outcome_unknown');
    const id = String(first.error?.executionId);
    await stage.ended(id);
    const repeated = await approved({ 'Governance-Repeat': id });
    expect(upstream.below(path.replace('/vendor', ''))).toHaveLength(2);
    expect(repeated.error?.executionId).not.toBe(id);
  });

  it.each<[string, string]>([
    ['is executed, by its own id', 'done'],
    ['is executed, by the id of another', 'other'],
  ])('is not sent again with the same key where it %s', async (_, which) => {
    const unknown = await gateway.call(`/vendor/breaks/${which}`, { json: {}, headers: keyed('unknown') });
    await stage.ended(String(unknown.error?.executionId));
    const path = `/vendor/keyed/${which}`;
    expect((await gateway.call(path, { json: {}, headers: keyed(which) })).status).toBe(200);
    const [{ id } = { id: '' }] = await stage.executions(`&resourceId=keyed/${which}`);
    await stage.ended(id);
    const repeated = which === 'other' ? String(unknown.error?.executionId) : id;
    const { status, error } = await gateway.call(path, { json: {}, headers: keyed(which, repeated) });
    expect([status, error?.reason, error?.executionId]).toEqual([422, 'already_sent', id]);
    expect(upstream.below(`/keyed/${which}`)).toHaveLength(1);
  });

  it.each<[number | 'reset', string]>([
    [500, '7'],
    [503, '7'],
    [429, '7'],
    ['reset', '1'],
  ])('is 503 where the service fails (%s), with nothing sent', async (fault, retryAfter) => {
    door.faultFor = (path) => (path.includes('/execute') || path.includes('/evaluate') ? fault : null);
    for (const [method, path] of [
      ['POST', `/vendor/down/${fault}`],
      ['GET', `/vendor/looked/down-${fault}`],
    ] as const) {
      const { status, headers, error } = await gateway.call(path, { method });
      expect([status, headers.get('Retry-After'), error?.code]).toEqual([503, retryAfter, 'UNAVAILABLE']);
      expect(headers.get('x-should-retry')).toBeNull();
      expect(upstream.below(path.replace('/vendor', ''))).toHaveLength(0);
    }
  });

  it.each(['{}', 'null', '[]', '{"id":1,"outcome":[],"effect":"allow","agentId":7}'])(
    'is 503 where the service answers %s, with nothing sent',
    async (json) => {
      for (const [method, path, fails] of [
        ['POST', '/vendor/odd/execute', '/execute'],
        ['GET', '/vendor/looked/odd', '/evaluate'],
        ['POST', '/vendor/odd/me', '/me'],
      ] as const) {
        // The gateway remembers whose a key is.
        const key = await issueKey(stage.app, { name: 'odd', scopes: ['execute'], agentId: stage.agentId });
        door.faultFor = (target) => (target.includes(fails) ? { json } : null);
        const { status, error } = await gateway.call(path, { method, headers: bearer(key.secret) });
        expect([fails, status, error?.code]).toEqual([fails, 503, 'UNAVAILABLE']);
        expect(upstream.below(path.replace('/vendor', ''))).toHaveLength(0);
      }
    },
  );

  it('is asked anew where an authorisation was lost, and no longer holds', async () => {
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    let executes = 0;
    door.faultFor = (path) => {
      executes += path.includes('/execute') ? 1 : 0;
      return executes === 1 && path.includes('/execute') ? 'answer lost' : null;
    };
    door.turnOf = async (path) => {
      if (!path.includes('/execute') || executes !== 1) return;
      await createPolicy(stage.app, { effect: 'require_approval', resources: ['unheard/1'], approval });
    };
    const { status, error } = await gateway.call('/vendor/unheard/1', { json: {} });
    door.turnOf = () => Promise.resolve();
    expect([status, error?.reason, executes]).toEqual([403, 'approval_required', 3]);
    expect(upstream.below('/unheard/')).toHaveLength(0);
    const outcomes = (await stage.executions('&resourceId=unheard/1')).map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual(['authorized', 'pending_approval']);
  });

  it('is not healthy where the service does not answer', async () => {
    expect((await gateway.call('/-/health')).status).toBe(200);
    door.faultFor = () => 'reset';
    expect((await gateway.call('/-/health')).status).toBe(503);
  });

  it('follows the file as SIGHUP reads it, and the old one where the new one has a fault', async () => {
    const text = readFileSync(gateway.file, 'utf8');
    const printedTimes = (part: string): number => gateway.printed().split(part).length - 1;
    const reload = async (content: string, line: string): Promise<void> => {
      const before = printedTimes(line);
      writeFileSync(gateway.file, content);
      gateway.process.kill('SIGHUP');
      await until('the file was read', () => printedTimes(line) > before);
    };
    const changed = text.replaceAll('/looked/', '/seen/');
    await reload(changed, 'were read again');
    expect((await gateway.call('/vendor/seen/1')).status).toBe(200);
    expect((await gateway.call('/vendor/looked/1')).error?.reason).toBe('route_not_listed');
    await reload(changed.replace('"routes"', '"routez"'), 'the old one stays in use');
    expect(gateway.printed()).toContain('routez');
    expect((await gateway.call('/vendor/seen/1')).status).toBe(200);
    await reload(changed.replace('VENDOR_KEY', 'NO_SUCH_VARIABLE'), 'NO_SUCH_VARIABLE');
    expect((await gateway.call('/vendor/seen/1')).status).toBe(200);
    const moved = text.replace(door.url, stage.app.url);
    expect(moved).not.toBe(text);
    await reload(moved, 'Another service needs a restart');
    expect((await gateway.call('/vendor/seen/1')).status).toBe(200);
    await reload(text, 'were read again');
    expect((await gateway.call('/vendor/looked/1')).status).toBe(200);
  });

  it('follows the file that was read last, also where the one before takes longer to open', async () => {
    const text = readFileSync(gateway.file, 'utf8');
    const readings = (): number => gateway.printed().split('were read again').length;
    const before = readings();
    // MCP is loaded for the first file that needs it.
    const slow = JSON.parse(text.replaceAll('/looked/', '/seen/')) as { upstreams: object };
    const upstreams = { ...slow.upstreams, shop: { mcp: `${upstream.url}/mcp` } };
    writeFileSync(gateway.file, JSON.stringify({ ...slow, upstreams }));
    gateway.process.kill('SIGHUP');
    await sleep(50);
    writeFileSync(gateway.file, text);
    const ask = (): void => void gateway.process.kill('SIGHUP');
    ask();
    // A busy machine passes two equal signals on as one.
    const again = setInterval(ask, 2_000);
    await until('both files were read', () => readings() >= before + 2);
    clearInterval(again);
    expect((await gateway.call('/vendor/looked/1')).status).toBe(200);
  });
});
