import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../faults/support/watch';
import { createAgent, issueKey } from '../../support/application/factories';
import { run } from '../../support/processes/shell';
import { MAIN } from '../command-line';
import { loadGatewayModule } from './gateway-modules';
import { openDoor, type ServiceDoor, type ServiceFault } from './service-door';
import {
  bearer,
  CREDENTIAL,
  type GatewayAnswer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

describe('The journal of the gateway', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let door: ServiceDoor;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((request, response) => {
      if (request.url.startsWith('/breaks/')) response.socket?.resetAndDestroy();
      else if (!request.url.startsWith('/never/')) sendJson(response, { done: true });
    });
    door = await openDoor(stage.app.url);
  });
  afterAll(async () => {
    await upstream.close();
    await door.close();
    await stage.close();
  });

  function start(name: string, environment: NodeJS.ProcessEnv = {}): Promise<StartedGateway> {
    const routes = [route('POST /:kind/:id', 'write')];
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes };
    return startGateway(stage, { vendor }, { name, environment, file: { service: door.url } });
  }

  const idOf = async (resource: string): Promise<string> =>
    String((await stage.executions(`&resourceId=${resource}`))[0]?.id);

  /** Limits the size of the files that a gateway writes. */
  function limitFiles(gateway: StartedGateway, bytes: string): void {
    const { status } = spawnSync('prlimit', ['--pid', String(gateway.process.pid), `--fsize=${bytes}`]);
    expect(status).toBe(0);
  }

  it('lets the next start report that an outcome is not known', async () => {
    const killed = await start('killed');
    const call = killed.call('/vendor/never/killed', { json: {} });
    call.catch(() => undefined);
    await until('it was sent', () => upstream.below('/never/killed').length === 1);
    await killed.stop('SIGKILL');
    await expect(call).rejects.toThrow();
    const id = await idOf('never/killed');
    expect((await stage.execution(id)).outcome).toBe('authorized');
    const next = await start('killed');
    expect(await stage.ended(id)).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
    expect(upstream.below('/never/killed')).toHaveLength(1);
    expect(await next.stop()).toBe(0);
  });

  describe('with an unknown outcome that the service has not taken', () => {
    const isReport = (path: string): boolean => /\/results?$/.test(path);

    it('sends the same action no more, and others of other agents', async () => {
      const gateway = await start('untaken');
      const other = await createAgent(stage.app, { name: 'other', capabilities: ['*'] });
      const { secret } = await issueKey(stage.app, { name: 'other', scopes: ['execute'], agentId: other.id });
      let take: () => void = () => undefined;
      const turn = new Promise<void>((resolve) => (take = resolve));
      door.turnOf = (path) => (isReport(path) ? turn : Promise.resolve());
      const call = (): Promise<GatewayAnswer> => gateway.call('/vendor/breaks/untaken', { json: {} });
      expect((await call()).error?.reason).toBe('outcome_unknown');
      const again = call();
      const headers = bearer(secret);
      expect((await gateway.call('/vendor/breaks/untaken', { json: {}, headers })).error?.reason).toBe(
        'outcome_unknown',
      );
      expect(upstream.below('/breaks/untaken')).toHaveLength(2);
      take();
      expect((await again).error?.reason).toBe('outcome_unknown');
      expect(upstream.below('/breaks/untaken')).toHaveLength(2);
      expect(await gateway.stop()).toBe(0);
    });

    it('tells of it once that is taken: the same action is sent by no other gateway', async () => {
      const [first, second] = [await start('first'), await start('second')];
      const call = (gateway: StartedGateway): Promise<GatewayAnswer> =>
        gateway.call('/vendor/breaks/two', { json: {} });
      let isTold = false;
      let repeat: () => void = () => undefined;
      const repeated = new Promise<void>((resolve) => (repeat = resolve));
      door.turnOf = async (path) => {
        if (!isReport(path)) return;
        await sleep(300);
        if (isTold) await repeated;
      };
      expect((await call(first)).error?.reason).toBe('outcome_unknown');
      isTold = true;
      expect((await call(second)).error?.reason).toBe('outcome_unknown');
      repeat();
      expect(upstream.below('/breaks/two')).toHaveLength(1);
      door.turnOf = () => Promise.resolve();
      for (const gateway of [first, second]) expect(await gateway.stop()).toBe(0);
    });

    it('sends nothing of its agent where the service does not take it', async () => {
      const gateway = await start('refused');
      door.faultFor = (path) => (isReport(path) ? 503 : null);
      expect((await gateway.call('/vendor/breaks/refused', { json: {} })).error?.reason).toBe('outcome_unknown');
      const { status, error } = await gateway.call('/vendor/breaks/refused', { json: {} });
      expect([status, error?.message]).toEqual([503, expect.stringContaining('has not accepted the report')]);
      expect(upstream.below('/breaks/refused')).toHaveLength(1);
      door.faultFor = () => null;
      expect((await gateway.call('/vendor/breaks/refused', { json: {} })).error?.reason).toBe('outcome_unknown');
      expect(upstream.below('/breaks/refused')).toHaveLength(1);
      expect(await gateway.stop()).toBe(0);
    });

    it('sends the same action no more after a kill, while the service starts, too', async () => {
      const killed = await start('starting');
      const call = killed.call('/vendor/never/starting', { json: {} });
      call.catch(() => undefined);
      await until('it was sent', () => upstream.below('/never/starting').length === 1);
      await killed.stop('SIGKILL');
      await expect(call).rejects.toThrow();
      door.faultFor = () => 'reset';
      const refused = door.refused;
      const next = await start('starting');
      // Its pauses are long by now.
      await until('it reports in vain', () => door.refused > refused + 10);
      door.faultFor = () => null;
      const { error } = await next.call('/vendor/never/starting', { json: {} });
      expect(error?.reason).toBe('outcome_unknown');
      expect(upstream.below('/never/starting')).toHaveLength(1);
      expect(await next.stop()).toBe(0);
    });
  });

  it('keeps what the service did not take, also over a kill, and half a line', async () => {
    const first = await start('reports');
    door.faultFor = (path) => (path.endsWith('/result') ? 503 : null);
    expect((await first.call('/vendor/kept/1', { json: {} })).status).toBe(200);
    await until('a report was refused', () => door.refused > 0);
    const id = await idOf('kept/1');
    expect((await stage.execution(id)).outcome).toBe('authorized');
    await first.stop('SIGKILL');
    const file = join(first.journal, 'journal.jsonl');
    expect(readFileSync(file, 'utf8')).toContain(id);
    const foreign = [{}, { report: null }, { report: {} }, { report: 'executed', upstream: 1 }];
    appendFileSync(file, foreign.map((line) => `${JSON.stringify({ executionId: id, ...line })}\n`).join(''));
    appendFileSync(file, '{"executionId":"exe_ha');
    const second = await start('reports');
    door.faultFor = () => null;
    expect(await stage.ended(id)).toMatchObject({ outcome: 'executed', result: { status: 200, bytes: 13 } });
    expect((await second.call('/vendor/kept/2', { json: {} })).status).toBe(200);
    expect(await stage.ended(await idOf('kept/2'))).toMatchObject({ outcome: 'executed' });
    expect(await second.stop()).toBe(0);
  });

  it('drops what no gateway writes, and says how many lines', async () => {
    const first = await start('foreign');
    await first.stop();
    mkdirSync(join(first.journal, 'holder-00000000.sock'));
    const lines = [
      '5',
      '"taken"',
      'null',
      '[]',
      '{"upstream":"vendor"}',
      '{"executionId":"../me","upstream":"vendor"}',
      '{',
    ];
    appendFileSync(join(first.journal, 'journal.jsonl'), lines.join('\n'));
    const second = await start('foreign');
    expect((await second.call('/vendor/kept/4', { json: {} })).status).toBe(200);
    expect(await second.stop()).toBe(0);
    expect(second.printed()).toContain(`dropped as unreadable: ${lines.length}`);
    expect(second.printed()).not.toContain('Reports wait');
  });

  it('is read before SIGHUP reads the file again, which does not end a start', async () => {
    const first = await start('signalled');
    await first.stop();
    appendFileSync(join(first.journal, 'journal.jsonl'), 'no line of a gateway\n');
    const env = { PATH: process.env['PATH'], VENDOR_KEY: CREDENTIAL, GOVERNANCE_API_KEY: stage.reportKey };
    const program = spawn(process.execPath, [MAIN, 'gateway', first.file], { env });
    let printed = '';
    for (const stream of [program.stdout, program.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        // The gateway does not listen yet.
        if (!printed.includes('unreadable') && (printed + text).includes('unreadable')) program.kill('SIGHUP');
        printed += text;
      });
    const ended = once(program, 'close');
    await until('the file was read again', () => printed.includes('were read again') || program.signalCode !== null);
    program.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it.each(['lost', 'replaced'] as const)(
    'is free of a report once that was taken, though the answer was %s',
    async (way) => {
      const gateway = await start(way);
      door.faultFor = (path) => (path.endsWith('/result') ? `answer ${way}` : null);
      const before = door.refused;
      expect((await gateway.call(`/vendor/${way}/1`, { json: {} })).status).toBe(200);
      await until('the report was sent', () => door.refused > before);
      door.faultFor = () => null;
      const id = await idOf(`${way}/1`);
      expect(await stage.ended(id)).toMatchObject({ outcome: 'executed' });
      const file = join(gateway.journal, 'journal.jsonl');
      await until('it is taken', () => readFileSync(file, 'utf8').includes(`{"taken":"${id}"}`));
      expect(await gateway.stop()).toBe(0);
      expect(gateway.printed()).toContain('Reports wait');
      expect(gateway.printed()).not.toContain('refused');
    },
  );

  describe('with several reports', () => {
    const isReport = (path: string): boolean => /\/results?$/.test(path);

    /** Number of times that a text stands in the journal. */
    const noted = (gateway: StartedGateway, text: string): number =>
      readFileSync(join(gateway.journal, 'journal.jsonl'), 'utf8').split(text).length - 1;

    /**
     * Makes calls while the service takes no report, then lets it answer lists by `faultFor`; returns the paths of
     * reports.
     */
    async function reportTogether(name: string, faultFor: ServiceDoor['faultFor']): Promise<readonly string[]> {
      const gateway = await start(name);
      // The first request with a report is refused once the reports of all calls wait, so the next one has all of them.
      let refuse = (): void => undefined;
      const allWait = new Promise<void>((resolve) => (refuse = resolve));
      door.turnOf = (path) => (isReport(path) ? allWait : Promise.resolve());
      door.faultFor = (path) => (isReport(path) ? 503 : null);
      const before = door.refused;
      const numbers = [1, 2, 3, 4, 5];
      await Promise.all(numbers.map((number) => gateway.call(`/vendor/${name}/${number}`, { json: {} })));
      await until('all reports wait', () => noted(gateway, '"outcome"') === numbers.length);
      refuse();
      await until('one was refused', () => door.refused > before);
      const paths: string[] = [];
      door.faultFor = (path, headers) => {
        if (isReport(path)) paths.push(path.replace(/exe_\w+/, ':id'));
        return faultFor(path, headers);
      };
      for (const number of numbers)
        expect(await stage.ended(await idOf(`${name}/${number}`))).toMatchObject({ outcome: 'executed' });
      expect(await gateway.stop()).toBe(0);
      expect(gateway.printed()).not.toContain('refused a report');
      door.faultFor = () => null;
      expect(noted(gateway, '"taken"')).toBe(numbers.length);
      return paths;
    }

    const single = '/api/v1/executions/:id/result';
    const list = '/api/v1/executions/results';

    it('sends those that wait in one request', async () => {
      expect(await reportTogether('list', () => null)).toEqual([list]);
    });

    it('sends all again where the answer was lost, or was none to them', async () => {
      const faults = ['answer lost', { json: '{"data":[{"id":"exe_other","error":null}],"total":1}' }, null] as const;
      let requests = 0;
      const faultFor = (path: string): ServiceFault | null => {
        if (path !== list) return null;
        requests += 1;
        return faults[requests - 1] ?? null;
      };
      expect(await reportTogether('repeated', faultFor)).toEqual([list, list, list]);
    });

    it('sends others where the service fails at one of them', async () => {
      const json = '{"error":{"code":"INTERNAL_ERROR","message":"The service has a fault.","requestId":"r"}}';
      const seen: string[] = [];
      const faultFor = (path: string): ServiceFault | null => {
        if (!isReport(path)) return null;
        seen.push(path);
        // The first that comes by itself fails until the others are through.
        return path === list || (path === seen[1] && seen.length < 8) ? { status: 500, json } : null;
      };
      const paths = await reportTogether('failing', faultFor);
      expect(paths.slice(0, 6)).toEqual([list, single, single, single, single, single]);
    });

    it('sends each by itself to a service without lists of reports', async () => {
      const json = '{"error":{"code":"NOT_FOUND","message":"The route does not exist.","requestId":"r"}}';
      const paths = await reportTogether('older', (path) => (path === list ? { status: 404, json } : null));
      expect(paths).toEqual([list, single, single, single, single, single]);
    });
  });

  it('keeps a report that something in front of the service refuses', async () => {
    const gateway = await start('refused');
    door.faultFor = (path) => (path.endsWith('/result') ? 404 : null);
    const before = door.refused;
    expect((await gateway.call('/vendor/refused/1', { json: {} })).status).toBe(200);
    await until('the report was refused', () => door.refused > before);
    door.faultFor = () => null;
    expect(await stage.ended(await idOf('refused/1'))).toMatchObject({ outcome: 'executed' });
    expect(await gateway.stop()).toBe(0);
  });

  it.each(['', '{}', '{"id":"exe_other","outcome":"executed"}'])(
    'keeps a report that something in front of the service answers with "%s"',
    async (json) => {
      const gateway = await start('front');
      const path = `front/${json.length}`;
      door.faultFor = (target) => (target.endsWith('/result') ? { json } : null);
      const before = door.refused;
      expect((await gateway.call(`/vendor/${path}`, { json: {} })).status).toBe(200);
      await until('the report was answered', () => door.refused > before);
      door.faultFor = () => null;
      expect(await stage.ended(await idOf(path))).toMatchObject({ outcome: 'executed' });
      expect(await gateway.stop()).toBe(0);
    },
  );

  it('is held by one gateway', async () => {
    const first = await start('held');
    const environment = { GOVERNANCE_API_KEY: stage.reportKey, VENDOR_KEY: 'another-credential' };
    const second = await run(process.execPath, [MAIN, 'gateway', first.file], { environment, folder: stage.folder });
    expect([second.exitCode, second.errors]).toEqual([
      75,
      expect.stringContaining('Another gateway holds the journal'),
    ]);
    // The refused one took nothing from the first.
    expect((await first.call('/vendor/kept/3', { json: {} })).status).toBe(200);
    await first.stop('SIGKILL');
    const third = await start('held');
    expect((await third.call('/vendor/kept/4', { json: {} })).status).toBe(200);
    expect(await third.stop()).toBe(0);
  });

  it('does not grow with what was reported', async () => {
    const gateway = await start('many');
    for (let count = 0; count < 50; count += 1) await gateway.call(`/vendor/many/${count}`, { json: {} });
    expect(await gateway.stop()).toBe(0);
    const next = await start('many');
    expect(readFileSync(join(next.journal, 'journal.jsonl'), 'utf8')).toBe('');
    expect(await next.stop()).toBe(0);
  });

  it('is written before anything is sent: 503 where it cannot be', async () => {
    const gateway = await start('full');
    const limit = (bytes: string): void => limitFiles(gateway, bytes);
    limit('0:unlimited');
    const refused = await gateway.call('/vendor/full/1', { json: {} });
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '1']);
    expect(refused.error?.message).toContain('journal');
    expect(upstream.below('/full/')).toHaveLength(0);
    expect(await stage.ended(await idOf('full/1'))).toMatchObject({ outcome: 'failed', reason: 'not_sent' });
    limit('unlimited:unlimited');
    expect((await gateway.call('/vendor/full/2', { json: {} })).status).toBe(200);
    expect(await stage.ended(await idOf('full/2'))).toMatchObject({ outcome: 'executed' });
    expect(await gateway.stop()).toBe(0);
  });

  it('drops what has ended where it cannot be written, as that may have filled the disk', async () => {
    const gateway = await start('small');
    const written = (): string => readFileSync(join(gateway.journal, 'journal.jsonl'), 'utf8');
    expect((await gateway.call('/vendor/small/1', { json: {} })).status).toBe(200);
    const id = await idOf('small/1');
    await until('the report was taken', () => written().includes(`"taken":"${id}"`));
    limitFiles(gateway, '0:unlimited');
    expect((await gateway.call('/vendor/small/2', { json: {} })).status).toBe(503);
    await until('the file is empty', () => written() === '');
    limitFiles(gateway, 'unlimited:unlimited');
    expect((await gateway.call('/vendor/small/3', { json: {} })).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
  });

  it('ends within its time on SIGTERM, and answers and reports what runs: SDKs repeat what has no answer', async () => {
    const gateway = await start('ending');
    const call = gateway.call('/vendor/never/ending', { json: {} });
    await until('it was sent', () => upstream.below('/never/ending').length === 1);
    expect(await gateway.stop()).toBe(0);
    const { status, error } = await call;
    expect([status, error?.reason]).toEqual([422, 'outcome_unknown']);
    const { outcome, reason } = await stage.execution(await idOf('never/ending'));
    expect([outcome, reason]).toEqual(['failed', 'outcome_unknown']);
  });

  it('ends so where the signal comes twice', async () => {
    const gateway = await start('twice');
    const call = gateway.call('/vendor/never/twice', { json: {} });
    await until('it was sent', () => upstream.below('/never/twice').length === 1);
    gateway.process.kill('SIGTERM');
    await until('it ends', () => gateway.printed().includes('Ending'));
    expect(await gateway.stop('SIGTERM')).toBe(0);
    const { status, error } = await call;
    expect([status, error?.reason]).toEqual([422, 'outcome_unknown']);
  });

  it('is kept for what the service authorises after the end, which is not sent', async () => {
    const gateway = await start('late');
    let isAsked = false;
    let answer = (): void => undefined;
    const serviceAnswer = new Promise<void>((resolve) => (answer = resolve));
    door.turnOf = (path) => {
      isAsked ||= path.endsWith('/execute');
      return path.endsWith('/execute') ? serviceAnswer : Promise.resolve();
    };
    const call = gateway.call('/vendor/late/1', { json: {} });
    call.catch(() => undefined);
    await until('the service is asked', () => isAsked);
    const ended = gateway.stop();
    await expect(call).rejects.toThrow();
    answer();
    expect(await ended).toBe(0);
    door.turnOf = () => Promise.resolve();
    const next = await start('late');
    expect(await stage.ended(await idOf('late/1'))).toMatchObject({ outcome: 'failed', reason: 'not_sent' });
    expect(upstream.below('/late/')).toEqual([]);
    expect(await next.stop()).toBe(0);
  });

  it('is no longer written once it is closed: another gateway may hold it', async () => {
    const { Journal } = await loadGatewayModule('calls/journal');
    const folder = join(stage.folder, 'closed-journal');
    const entry = (executionId: string): { executionId: string; upstream: string; at: string } => ({
      executionId,
      upstream: 'vendor',
      at: '2026-01-01T00:00:00.000Z',
    });
    const closed = await Journal.open(folder);
    await closed.close();
    const next = await Journal.open(folder);
    await next.begin(entry('exe_next'));
    for (const id of ['exe_late1', 'exe_late2']) await expect(closed.begin(entry(id))).rejects.toThrow('closed');
    await next.begin(entry('exe_last'));
    const text = readFileSync(join(folder, 'journal.jsonl'), 'utf8');
    expect([...text.matchAll(/exe_\w+/g)].map(([id]) => id)).toEqual(['exe_next', 'exe_last']);
    await next.close();
  });
});
