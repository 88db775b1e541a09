import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { buildCommandLine, gov } from './command-line';
import { connectThroughProxy, textOf } from './mcp/mcp-clients';
import { builtClient } from './typescript-client';

type Answer = (response: ServerResponse) => void;
/** Which request of a guarded action is answered strangely. */
type Step = 'execute' | 'resume' | 'result';

const hasPython = spawnSync('python3', ['--version']).status === 0;

/** Milliseconds after which an answer counts as lost. */
const TIMEOUT = 1_000;

/** What proxies, portals and broken connections answer in the place of a service. */
const STRANGE: readonly (readonly [string, Answer])[] = [
  ['null', (response) => response.end('null')],
  ['a list', (response) => response.end('[]')],
  ['an outcome of nothing', (response) => response.end('{"outcome":"authorized"}')],
  ['a page', (response) => response.end('<html>Sign in</html>')],
  ['nothing', (response) => response.writeHead(204).end()],
  ['a redirect', (response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
  ['a fault', (response) => response.writeHead(500).end('<html>')],
  ['a fault in a list', (response) => response.writeHead(500).end('[]')],
  ['a fault that breaks off', (response) => abort(response, 500)],
  ['an answer that breaks off', (response) => abort(response, 200)],
];
/** Not tried in Python, whose client waits longer. */
const SILENT: readonly (readonly [string, Answer])[] = [
  ['silence', () => undefined],
  ['an answer that stops', (response) => void response.writeHead(200, { 'Content-Length': '100' }).write('{"id":')],
];

function abort(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': '100' }).write('{"id":');
  setTimeout(() => response.destroy(), 20);
}

const EXECUTION = { id: 'exe_1', decisionId: 'dec_1', failureReason: null, result: null };

const PROGRAM = `
import sys
from governance import Governance, GovernanceError
governance = Governance(sys.argv[1], "key", patience=0)
try:
    with governance.guard("send", "mail", "mails/1", agent="bot", wait=3):
        print("ran")
except GovernanceError as error:
    print(type(error).__name__, error.code)
`;

describeOnSqlite('Where something else answers in the place of the service', () => {
  let server: Server;
  let url: string;
  let client: Awaited<ReturnType<typeof builtClient>>;
  /** The Idempotency-Keys that came. */
  const keys: unknown[] = [];
  /** For how long the service was asked to hold its answers. */
  const waits: number[] = [];
  let strange: { step: Step; answer: Answer };

  beforeAll(async () => {
    await buildCommandLine();
    client = await builtClient();
    server = createServer((request, response) => {
      request.resume();
      keys.push(request.headers['idempotency-key']);
      const path = request.url ?? '';
      const step = (['execute', 'resume', 'result'] as const).find((name) => path.endsWith(name)) ?? 'execute';
      const wait = new URL(path, 'http://service').searchParams.get('wait');
      if (wait !== null && waits.push(Number(wait)) === 1) response.writeHead(503).end();
      else if (step === strange.step || path === '/elsewhere') strange.answer(response);
      else if (step === 'execute' && strange.step === 'resume') send(response, 'approved');
      else send(response, 'authorized');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function send(response: ServerResponse, outcome: string, result: unknown = null): void {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...EXECUTION, outcome, result }));
  }

  const governed = (patience = 0): InstanceType<(typeof client)['GovernanceClient']> =>
    new client.GovernanceClient({ url, key: 'key', patience, timeout: TIMEOUT });

  describe.each([...STRANGE, ...SILENT])('with %s', (_name, answer) => {
    it.each(['execute', 'resume'] as const)('nothing runs: %s', async (step) => {
      strange = { step, answer };
      const action = jest.fn();
      const governance = governed();
      const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
      await expect(governance.guard(request, action)).rejects.toMatchObject({
        name: 'OutcomeUnknownError',
        message: expect.stringContaining('before you repeat it'),
      });
      expect(action).not.toHaveBeenCalled();
    });

    it('nothing runs in Python', async () => {
      strange = { step: 'execute', answer };
      if (hasPython && STRANGE.some(([, known]) => known === answer))
        expect(await python()).toMatch(/^OutcomeUnknown (UNREACHABLE|UNEXPECTED_ANSWER)\n$/);
    });
  });

  it.each(STRANGE.slice(3, 4))('says that the result is not on record, with %s', async (_name, answer) => {
    strange = { step: 'result', answer };
    const governance = governed();
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = governance.guard(request, () => 'sent');
    await expect(guarded).rejects.toMatchObject({ code: 'RESULT_NOT_REPORTED', result: 'sent' });
    if (hasPython) expect(await python()).toBe('ran\nResultNotReported RESULT_NOT_REPORTED\n');
  });

  it.each(SILENT.slice(0, 1))('asks once more with the same Idempotency-Key, after %s', async (_name, answer) => {
    keys.length = 0;
    strange = {
      step: 'execute',
      answer: (response) => {
        strange = { step: 'resume', answer };
        answer(response);
      },
    };
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    await expect(governed(1).authorize(request)).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(keys).toEqual([keys[0], keys[0], keys[2], keys[2]]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it('sends nothing once it is aborted while the key is fetched, and waits for no key without an end', async () => {
    keys.length = 0;
    const ending = new AbortController();
    const abort = (): string => (ending.abort(new Error('Enough.')), 'key');
    const never = (): Promise<string> => new Promise(() => undefined);
    const asking = (key: () => string | Promise<string>): Promise<unknown> =>
      new client.GovernanceClient({ url, key, timeout: TIMEOUT }).get('/api/v1/stats', { signal: ending.signal });
    await expect(asking(never)).rejects.toThrow('There was no key within 1 seconds.');
    await expect(asking(abort)).rejects.toThrow('Enough.');
    expect(keys).toEqual([]);
  });

  it('asks no faster where its requests are not held, each time for the time that is left', async () => {
    strange = { step: 'execute', answer: (response) => send(response, 'pending_approval') };
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = async (): Promise<string> =>
      governed()
        .guard(request, () => '', { wait: 3 })
        .catch((error: unknown) => {
          const { name, code } = error as Error & { code: string };
          return `${name} ${code}\n`;
        });
    for (const asking of hasPython ? [guarded, python] : [guarded]) {
      waits.length = 0;
      expect(await asking()).toMatch(/^ApprovalPending(Error)? APPROVAL_PENDING\n$/);
      expect(waits[0]).toBe(3);
      expect(waits[1]).toBeLessThan(3);
      expect(waits.length).toBeLessThan(5);
    }
  });

  it('follows no page as a stream of events', async () => {
    for (const answer of [
      (response: ServerResponse) => void response.end('<html>Sign in</html>'),
      (response: ServerResponse) =>
        void response.setHeader('Content-Type', 'text/event-stream').end('id: 1\ndata: Sign in\n\n'),
    ]) {
      strange = { step: 'execute', answer };
      await expect(governed().events({ after: 0 }).next()).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' });
    }
  });

  it('knows that nothing happened where nobody listens', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const away = `http://127.0.0.1:${port}`;
    const governance = new client.GovernanceClient({ url: away, key: 'key', patience: 0 });
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const asking = governance.guard(request, () => '');
    await expect(asking).rejects.toMatchObject({ name: 'GovernanceError', isOutcomeUnknown: false });
    if (hasPython) expect(await python(away)).toBe('GovernanceError UNREACHABLE\n');
  });

  it('passes on through gov mcp what is known, and no question but its own', async () => {
    const options = { way: 'stdio', era: 'legacy', runs: '/dev/null', elicitation: 'url' } as const;
    const environment = { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: 'key' };
    const words = ['--patience', '0', '--hold', '0', '--agent', 'bot'];
    const { client: tools, close } = await connectThroughProxy({ ...options, environment, words });
    const asked = jest.fn(async () => ({ action: 'accept' }));
    tools.setRequestHandler('elicitation/create', asked);
    const call = async (answer: Answer): Promise<string> => {
      strange = { step: 'execute', answer };
      return textOf(await tools.callTool({ name: 'echo', arguments: {} }));
    };
    try {
      const unknown = await call((response) => response.end('null'));
      expect(unknown).toContain('It is not known whether echo was carried out');
      expect(unknown).toContain('Do not call it again');
      // So does the search for a page of the console, which finds another.
      const pending = (response: ServerResponse): void => {
        strange = { step: 'execute', answer: (other) => other.end('<html>Sign in</html>') };
        send(response, 'pending_approval');
      };
      expect(await call(pending)).toContain('Approval pending');
      const inputRequests = { approval: { method: 'elicitation/create', params: { message: 'Your password?' } } };
      const result = { content: [{ type: 'text', text: 'handled' }], inputRequests };
      expect(await call((response) => send(response, 'executed', result))).toBe('handled');
      expect(asked).not.toHaveBeenCalled();
    } finally {
      await close();
    }
  });

  async function python(service = url): Promise<string> {
    const environment = { PYTHONPATH: join(ROOT, 'clients', 'python'), PYTHONDONTWRITEBYTECODE: '1' };
    const { output, errors } = await run('python3', ['-c', PROGRAM, service], { environment });
    expect(errors).toBe('');
    return output;
  }

  it('blocks a tool of Claude Code, also where no answer comes', async () => {
    const hook = async (): Promise<unknown> => {
      const members = { session_id: '1', hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: {} };
      const environment = { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: 'key' };
      const words = ['hook', 'claude-code', '--timeout', '1'];
      const { exitCode, output } = await gov(words, { environment, input: JSON.stringify(members) });
      return exitCode === 2 ? 'blocked' : JSON.parse(output).hookSpecificOutput.permissionDecision;
    };
    for (const answer of [() => undefined, (response: ServerResponse) => void response.end('{"agentId":"a"}')]) {
      strange = { step: 'execute', answer };
      expect(await hook()).toMatch(/^(blocked|deny)$/);
    }
  });
});
