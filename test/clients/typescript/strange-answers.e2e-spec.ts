import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { buildCommandLine, gov } from '../command-line';
import { connectThroughProxy, textOf } from '../mcp/mcp-clients';
import { builtClient } from '../typescript-client';

type Answer = (response: ServerResponse) => void;
/** The request of a guarded action that gets the strange answer. */
type Step = 'execute' | 'resume' | 'result';

const hasPython = spawnSync('python3', ['--version']).status === 0;

/** Milliseconds after which an answer counts as lost. */
const TIMEOUT = 1_000;

/** Answers of proxies, portals and broken connections in place of the service. */
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
const SILENT: readonly (readonly [string, Answer])[] = [
  ['silence', () => undefined],
  ['an answer that stops', (response) => void response.writeHead(200, { 'Content-Length': '100' }).write('{"id":')],
  ['an answer that trickles', (response) => trickle(response.writeHead(200, { 'Content-Length': '1000000' }))],
  [
    'a head that trickles',
    ({ socket }) => {
      socket?.write('HTTP/1.1 200 OK\r\nX-Head: ');
      if (socket !== null) trickle(socket);
    },
  ],
];

function abort(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': '100' }).write('{"id":');
  setTimeout(() => response.destroy(), 20);
}

/** A byte so often that the silence between two never lasts. */
function trickle(stream: Writable): void {
  const timer = setInterval(() => stream.write(' '), 50);
  stream.once('close', () => clearInterval(timer));
}

const EXECUTION = {
  ...{ id: 'exe_1', decisionId: 'dec_1', failureReason: null, result: null },
  ...{ agentName: 'bot', action: 'echo', resourceType: 'tool', resourceId: 'shop/echo', parameters: {}, policies: [] },
};

const PROGRAM = `
import sys
from governance import Governance, GovernanceError
keys = iter(["key"] * int(sys.argv[4]))
governance = Governance(sys.argv[1], lambda: next(keys), patience=float(sys.argv[2]), timeout=${TIMEOUT / 1_000})
try:
    with governance.guard("send", "mail", "mails/1", agent="bot", wait=float(sys.argv[3])):
        print("ran")
except GovernanceError as error:
    print(type(error).__name__, error.code, error if error.status else "")
`;

describeOnSqlite('When something else answers in place of the service', () => {
  let server: Server;
  let url: string;
  let client: Awaited<ReturnType<typeof builtClient>>;
  /** The Idempotency-Keys received. */
  const keys: unknown[] = [];
  /** The waits that the service was asked for, in seconds. */
  const waits: number[] = [];
  let strange: { step: Step; answer: Answer };
  /** Answers of the service that were broken off while it was waited for an approval; then comes the approval. */
  let outage = 0;

  beforeAll(async () => {
    await buildCommandLine();
    client = await builtClient();
    server = createServer((request, response) => {
      request.resume();
      keys.push(request.headers['idempotency-key']);
      const path = request.url ?? '';
      const step = (['execute', 'resume', 'result'] as const).find((name) => path.endsWith(name)) ?? 'execute';
      const wait = new URL(path, 'http://service').searchParams.get('wait');
      if (wait !== null && outage > 0) endOutage(response);
      else if (wait !== null && waits.push(Number(wait)) === 1) response.writeHead(503).end();
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

  function endOutage(response: ServerResponse): void {
    outage -= 1;
    if (outage > 0) response.destroy();
    else send(response, 'approved');
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
      if (hasPython) expect(await python()).toMatch(/^OutcomeUnknown (UNREACHABLE|UNEXPECTED_ANSWER) /);
    });
  });

  it.each(STRANGE.slice(3, 4))('says that the result is not on record, with %s', async (_name, answer) => {
    strange = { step: 'result', answer };
    const governance = governed();
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = governance.guard(request, () => 'sent');
    await expect(guarded).rejects.toMatchObject({ code: 'RESULT_NOT_REPORTED', result: 'sent' });
    if (hasPython) expect(await python()).toBe('ran\nResultNotReported RESULT_NOT_REPORTED \n');
  });

  it.each(SILENT.slice(0, 1))('asks once more with the same Idempotency-Key, after %s', async (_name, answer) => {
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const authorized = async (): Promise<string> =>
      governed(1)
        .authorize(request)
        .then(
          () => 'ran',
          (error: unknown) => {
            const { name, code } = error as Error & { code: string };
            return `${name} ${code}`;
          },
        );
    for (const call of hasPython ? [authorized, () => python(url, 0.001)] : [authorized]) {
      keys.length = 0;
      strange = {
        step: 'execute',
        answer: (response) => {
          strange = { step: 'resume', answer };
          answer(response);
        },
      };
      expect(await call()).toMatch(/^OutcomeUnknown(Error)? UNREACHABLE/);
      expect(keys).toEqual([keys[0], keys[0], keys[2], keys[2]]);
      expect(keys[2]).not.toBe(keys[0]);
    }
  });

  it('sends nothing if it is aborted while the key is fetched, and does not wait for a key for ever', async () => {
    keys.length = 0;
    const ending = new AbortController();
    const abort = (): string => (ending.abort(new Error('Enough.')), 'key');
    const never = (): Promise<string> => new Promise(() => undefined);
    const readStats = (key: () => string | Promise<string>): Promise<unknown> =>
      new client.GovernanceClient({ url, key, timeout: TIMEOUT }).get('/api/v1/stats', { signal: ending.signal });
    await expect(readStats(never)).rejects.toThrow('There was no key within 1 seconds.');
    await expect(readStats(abort)).rejects.toThrow('Enough.');
    expect(keys).toEqual([]);
  });

  it.each(['agk_SECRET\nagk_OTHER', 'agk_SECRET\u2028x', ' '])('refuses the key %j without showing it', async (key) => {
    keys.length = 0;
    const error: unknown = await new client.GovernanceClient({ url, key, timeout: TIMEOUT })
      .get('/api/v1/stats')
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(inspect(error)).not.toContain('SECRET');
    expect(keys).toEqual([]);
  });

  it('does not forget that an attempt may have been carried out when there is no key for the next', async () => {
    strange = { step: 'execute', answer: (response) => abort(response, 200) };
    let keysLeft = 1;
    const key = (): string => {
      keysLeft -= 1;
      if (keysLeft < 0) throw new Error('The vault is sealed.');
      return 'key';
    };
    const governance = new client.GovernanceClient({ url, key, timeout: TIMEOUT });
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    await expect(governance.guard(request, () => '')).rejects.toMatchObject({ name: 'OutcomeUnknownError' });
    if (hasPython) expect(await python(url, 30, 0, 1)).toBe('OutcomeUnknown UNREACHABLE \n');
  });

  it('does not say that nothing happened where the service stopped while its handler ran', async () => {
    strange = { step: 'execute', answer: (response) => send(response, 'interrupted') };
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const interrupted = governed().guard(request, () => '');
    await expect(interrupted).rejects.toMatchObject({ name: 'OutcomeUnknownError', code: 'EXECUTION_INTERRUPTED' });
    if (hasPython) expect(await python()).toBe('OutcomeUnknown EXECUTION_INTERRUPTED \n');
  });

  it('asks no faster if its requests are not held, each time for the remaining time', async () => {
    strange = { step: 'execute', answer: (response) => send(response, 'pending_approval') };
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = async (): Promise<string> =>
      governed()
        .guard(request, () => '', { wait: 3 })
        .catch((error: unknown) => {
          const { name, code } = error as Error & { code: string };
          return `${name} ${code} `;
        });
    for (const call of hasPython ? [guarded, python] : [guarded]) {
      waits.length = 0;
      expect(await call()).toMatch(/^ApprovalPending(Error)? APPROVAL_PENDING /);
      expect(waits[0]).toBe(3);
      expect(waits[1]).toBeLessThan(3);
      expect(waits.length).toBeLessThan(5);
    }
  });

  it('waits for an approval through an outage that is longer than its patience', async () => {
    strange = { step: 'execute', answer: (response) => send(response, 'pending_approval') };
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = async (): Promise<string> => governed().guard(request, () => 'ran\n', { wait: 60 });
    for (const call of hasPython ? [guarded, () => python(url, 0, 60)] : [guarded]) {
      outage = 3;
      expect(await call()).toBe('ran\n');
      expect(outage).toBe(0);
    }
  });

  it('names the place that a redirect leads to, and does not go there', async () => {
    keys.length = 0;
    strange = {
      step: 'execute',
      answer: (response) => response.writeHead(308, { Location: 'https://elsewhere.example/' }).end('<html>'),
    };
    const redirected = governed().get('/api/v1/stats');
    await expect(redirected).rejects.toMatchObject({
      code: 'UNEXPECTED_ANSWER',
      status: 308,
      message: expect.stringContaining('a redirect to https://elsewhere.example/'),
    });
    expect(keys).toHaveLength(1);
    if (hasPython) expect(await python()).toContain('a redirect to https://elsewhere.example/');
  });

  it('sends the Idempotency-Key that it is given, however that is written, and no other', async () => {
    keys.length = 0;
    strange = { step: 'execute', answer: (response) => response.end('{}') };
    for (const name of ['Idempotency-Key', 'idempotency-key'])
      await governed().post('/api/v1/entities', { body: { type: 'a', name: 'b' }, headers: { [name]: 'mine' } });
    expect(keys).toEqual(['mine', 'mine']);
  });

  it.each([{ url: undefined }, { url: 'localhost:3000' }, { key: undefined }, { timeout: 0 }, { patience: -1 }])(
    'is not made with %p',
    (options) => {
      const usual = { url, key: 'key' };
      expect(() => new client.GovernanceClient({ ...usual, ...(options as object) })).toThrow(TypeError);
    },
  );

  it('says of a key that is not there that it was undefined, and shows no other', () => {
    const made = (key: unknown) => () => new client.GovernanceClient({ url, key: key as string });
    const messageStart = 'key must be an API key, a token, or a function that returns one; it was';
    expect(made(undefined)).toThrow(`${messageStart} undefined.`);
    expect(made(['agk_SECRET'])).toThrow(`${messageStart} of the type object.`);
  });

  it('does not begin what was aborted before it was authorised, and says so even if that cannot be reported', async () => {
    let ending = new AbortController();
    const reports: unknown[] = [];
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const action = jest.fn();
    strange = { step: 'result', answer: (response) => response.end('{}') };
    const fetching: typeof fetch = async (address, sent) => {
      const response = await fetch(address, sent);
      const text = await response.text();
      if (response.url.endsWith('result') && typeof sent?.body === 'string') reports.push(JSON.parse(sent.body));
      ending.abort(new Error('Enough.'));
      return new Response(text, response);
    };
    const governance = new client.GovernanceClient({ url, key: 'key', patience: 0, fetch: fetching });
    await expect(governance.guard(request, action, { signal: ending.signal })).rejects.toThrow('Enough.');
    expect(action).not.toHaveBeenCalled();
    expect(reports.at(-1)).toEqual({ outcome: 'failed', failureReason: 'It was given up before it began: Enough.' });
    strange = { step: 'result', answer: (response) => response.writeHead(404).end() };
    ending = new AbortController();
    await expect(governance.guard(request, action, { signal: ending.signal })).rejects.toMatchObject({
      name: 'NotBegunError',
      message: expect.stringMatching(/has not run\..* exe_1 stays authorized\.$/),
    });
    expect(action).not.toHaveBeenCalled();
  });

  it('does not take a web page for a stream of events', async () => {
    for (const answer of [
      (response: ServerResponse) => void response.end('<html>Sign in</html>'),
      (response: ServerResponse) =>
        void response.setHeader('Content-Type', 'text/event-stream').end('id: 1\ndata: Sign in\n\n'),
    ]) {
      strange = { step: 'execute', answer };
      await expect(governed().events({ after: 0 }).next()).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER' });
    }
  });

  it('knows that nothing happened if nobody listens at the address', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const away = `http://127.0.0.1:${port}`;
    const governance = new client.GovernanceClient({ url: away, key: 'key', patience: 0 });
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guardCall = governance.guard(request, () => '');
    await expect(guardCall).rejects.toMatchObject({ name: 'GovernanceError', isOutcomeUnknown: false });
    if (hasPython) expect(await python(away)).toBe('GovernanceError UNREACHABLE \n');
  });

  it('passes on through gov mcp what is known, and no questions but its own', async () => {
    const options = { way: 'stdio', era: 'legacy', runs: '/dev/null', elicitation: 'url' } as const;
    const environment = { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: 'key' };
    const words = ['--patience', '0', '--hold', '0', '--agent', 'bot'];
    const { client: tools, close } = await connectThroughProxy({ ...options, environment, words });
    const acceptQuestion = jest.fn(async () => ({ action: 'accept' }));
    tools.setRequestHandler('elicitation/create', acceptQuestion);
    const call = async (answer: Answer): Promise<string> => {
      strange = { step: 'execute', answer };
      return textOf(await tools.callTool({ name: 'echo', arguments: {} }));
    };
    try {
      const unknown = await call((response) => response.end('null'));
      expect(unknown).toContain('It is not known whether echo was carried out');
      expect(unknown).toContain('Do not call it again');
      // Whatever else it asks gets a page: what policies say, and where the console is.
      const pending = (response: ServerResponse): void => {
        if (response.req.url?.endsWith('/execute') === true) send(response, 'pending_approval');
        else response.end('<html>Sign in</html>');
      };
      expect(await call(pending)).toContain('Approval pending');
      const inputRequests = { approval: { method: 'elicitation/create', params: { message: 'Your password?' } } };
      const result = { content: [{ type: 'text', text: 'handled' }], inputRequests };
      // What a handler returned is text, whatever it looks like.
      expect(JSON.parse(await call((response) => send(response, 'executed', result)))).toEqual(result);
      const failed = await call((response) => send(response, 'failed'));
      expect(failed).toBe('The service ran echo itself, and that failed. The execution exe_1 is failed.');
      expect(acceptQuestion).not.toHaveBeenCalled();
    } finally {
      await close();
    }
  });

  /** @param keys how often there is a key. */
  async function python(service = url, patience = 0, wait = 3, keys = 100): Promise<string> {
    const environment = { PYTHONPATH: join(ROOT, 'clients', 'python'), PYTHONDONTWRITEBYTECODE: '1' };
    const { output, errors } = await run('python3', ['-c', PROGRAM, service, ...[patience, wait, keys].map(String)], {
      environment,
    });
    expect(errors).toBe('');
    return output;
  }

  it('blocks a tool of Claude Code, even if no answer comes', async () => {
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
