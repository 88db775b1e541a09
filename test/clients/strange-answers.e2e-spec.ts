import { spawnSync } from 'node:child_process';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { buildCommandLine, gov } from './command-line';
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
    with governance.guard("send", "mail", "mails/1", agent="bot"):
        print("ran")
except GovernanceError as error:
    print(error.code)
`;

describeOnSqlite('Where something else answers in the place of the service', () => {
  let server: Server;
  let url: string;
  let client: Awaited<ReturnType<typeof builtClient>>;
  /** The Idempotency-Keys that came. */
  const keys: unknown[] = [];
  let strange: { step: Step; answer: Answer };

  beforeAll(async () => {
    await buildCommandLine();
    client = await builtClient();
    server = createServer((request, response) => {
      request.resume();
      keys.push(request.headers['idempotency-key']);
      const path = request.url ?? '';
      const step = (['execute', 'resume', 'result'] as const).find((name) => path.endsWith(name)) ?? 'execute';
      if (step === strange.step || path === '/elsewhere') strange.answer(response);
      else if (step === 'execute' && strange.step === 'resume') send(response, 'approved');
      else send(response, 'authorized');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }, 180_000);
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function send(response: ServerResponse, outcome: string): void {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...EXECUTION, outcome }));
  }

  const governed = (patience = 0): InstanceType<(typeof client)['GovernanceClient']> =>
    new client.GovernanceClient({ url, key: 'key', patience, timeout: TIMEOUT });

  describe.each([...STRANGE, ...SILENT])('with %s', (_name, answer) => {
    it.each(['execute', 'resume'] as const)('nothing runs: %s', async (step) => {
      strange = { step, answer };
      const action = jest.fn();
      const governance = governed();
      const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
      await expect(governance.guard(request, action)).rejects.toThrow(client.GovernanceError);
      expect(action).not.toHaveBeenCalled();
    });

    it('nothing runs in Python', async () => {
      strange = { step: 'execute', answer };
      if (hasPython && STRANGE.some(([, known]) => known === answer))
        expect(await python()).toMatch(/^(UNREACHABLE|UNEXPECTED_ANSWER)\n$/);
    });
  });

  it.each(STRANGE.slice(3, 4))('says that the result is not on record, with %s', async (_name, answer) => {
    strange = { step: 'result', answer };
    const governance = governed();
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = governance.guard(request, () => 'sent');
    await expect(guarded).rejects.toMatchObject({ code: 'RESULT_NOT_REPORTED', result: 'sent' });
    if (hasPython) expect(await python()).toBe('ran\nRESULT_NOT_REPORTED\n');
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
    const [abort, never] = [
      (): string => (ending.abort(new Error('Enough.')), 'key'),
      () => new Promise<string>(() => {}),
    ];
    const asking = (key: () => string | Promise<string>): Promise<unknown> =>
      new client.GovernanceClient({ url, key, timeout: TIMEOUT }).get('/api/v1/stats', { signal: ending.signal });
    await expect(asking(never)).rejects.toThrow('There was no key within 1 seconds.');
    await expect(asking(abort)).rejects.toThrow('Enough.');
    expect(keys).toEqual([]);
  });

  async function python(): Promise<string> {
    const environment = { PYTHONPATH: join(ROOT, 'clients', 'python'), PYTHONDONTWRITEBYTECODE: '1' };
    const { output, errors } = await run('python3', ['-c', PROGRAM, url], { environment });
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
  }, 60_000);
});
