import { Agent, request as sendRequest } from 'node:http';
import { load } from '../http/load';
import { AGENT, EXECUTION, policies } from '../ledger/samples';
import type { Effort } from '../support/effort';
import { generateLoad, type LoadRequest } from '../support/load-generator';
import { number, printLine, printRatio, printSingleRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { CONNECTIONS } from '../support/settings';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { hasNginx, type RunningProgram, startGateway, startNginx, startUpstream } from './programs';

const AGENTS = 10;
const CALLERS = 1_000;
const LARGE_MEGABYTES = 1_024;
const MEGABYTE = 2 ** 20;
const WARM_UP_SECONDS = 12;
const INVOICE = '/invoices/2026-1042';

/** The speed and the cost of one way to call the upstream. */
interface Figures {
  readonly requestsPerSecond: number;
  /** Microseconds of processor time per call, of the service and of the program in front of the upstream. */
  readonly processorMicroseconds: number;
}

interface Way {
  readonly name: string;
  readonly run: (seconds: number) => Promise<number>;
  readonly processes: readonly { readonly processorSeconds: number }[];
  readonly figures: Figures[];
}

/**
 * Compares the gateway, in turns, with an agent that requests and reports directly, and with nginx that asks by
 * `auth_request`.
 */
export async function benchmarkGateway(workplace: Workplace, effort: Effort): Promise<void> {
  const service = await ServerProcess.start(workplace, 'service', 'gateway', { TRUST_PROXY: '127.0.0.1' });
  const keys = await prepare(service);
  const [key = ''] = keys.agents;
  const upstream = await startUpstream(workplace);
  const gateway = await startGateway(workplace, { service: service.url, upstream: upstream.url, key: keys.report });
  const headers = { 'X-API-Key': key };
  const post: LoadRequest = { method: 'POST', path: `/vendor${INVOICE}`, headers };
  const get: LoadRequest = { method: 'GET', path: `/vendor${INVOICE}`, headers };
  const loadOf =
    (url: string, request: LoadRequest) =>
    (seconds: number): Promise<number> =>
      completedAt(url, request, seconds);
  const ways: Way[] = [
    {
      name: 'execute and result',
      run: (seconds) => directCalls(service.url, key, seconds),
      processes: [service],
      figures: [],
    },
    { name: 'gateway', run: loadOf(gateway.url, post), processes: [service, gateway], figures: [] },
    {
      ...{ name: 'gateway, record: false', run: loadOf(gateway.url, get), processes: [service, gateway], figures: [] },
    },
    { name: 'evaluate', run: (seconds) => evaluations(service, key, seconds), processes: [service], figures: [] },
  ];
  if (hasNginx()) {
    const nginx = await startNginx(workplace, { service: service.url, upstream: upstream.url });
    const request: LoadRequest = { method: 'POST', path: INVOICE, headers };
    ways.push({ name: 'nginx', run: loadOf(nginx.url, request), processes: [service, nginx], figures: [] });
  } else printLine('SKIPPED: nginx is not installed.');
  for (let round = 0; round <= effort.rounds; round += 1) {
    for (const way of ways) {
      // The first round warms up the JIT compiler of both processes, which takes thousands of calls.
      const figures = await measure(way, round === 0 ? Math.max(WARM_UP_SECONDS, effort.seconds) : effort.seconds);
      if (round > 0) way.figures.push(figures);
    }
  }
  printWays(ways, effort);
  await printManyCallers(gateway, keys.agents);
  await printLargeAnswer(gateway, key);
}

async function prepare(service: ServerProcess): Promise<{ readonly agents: string[]; readonly report: string }> {
  const [policy] = policies(1);
  await service.send('POST', '/api/v1/policies', { ...policy });
  const http = { actions: ['http.post'], resources: ['https://api.example.com/*'] };
  await service.send('POST', '/api/v1/policies', { ...policy, ...http, name: 'billing-may-post' });
  const keyFor = async (body: object): Promise<string> =>
    ((await service.send('POST', '/api/v1/api-keys', body)) as { secret: string }).secret;
  const agents: string[] = [];
  for (let index = 0; index < AGENTS; index += 1) {
    const name = `invoice-bot-${index}`;
    const capabilities = [...AGENT.capabilities, 'http.post'];
    const { id } = (await service.send('POST', '/api/v1/agents', { ...AGENT, name, capabilities })) as { id: string };
    agents.push(await keyFor({ name, scopes: ['execute'], agentId: id }));
  }
  return { agents, report: await keyFor({ name: 'gateway', scopes: ['report'] }) };
}

async function measure({ run, processes }: Way, seconds: number): Promise<Figures> {
  const processorTime = (): number => processes.reduce((sum, { processorSeconds }) => sum + processorSeconds, 0);
  const before = processorTime();
  const start = performance.now();
  const calls = await run(seconds);
  const elapsedSeconds = (performance.now() - start) / 1_000;
  return {
    requestsPerSecond: calls / elapsedSeconds,
    processorMicroseconds: ((processorTime() - before) / calls) * 1e6,
  };
}

async function completedAt(url: string, request: LoadRequest, seconds: number): Promise<number> {
  const { times, refused } = await generateLoad(url, [request], { connections: CONNECTIONS, seconds });
  if (refused > 0) throw new Error(`${refused} requests failed at ${url}: nothing can be said of this run.`);
  return times.length;
}

async function evaluations(service: ServerProcess, key: string, seconds: number): Promise<number> {
  const { agentId } = (await postJson({ url: service.url, key, path: '/api/v1/me', method: 'GET' })) as {
    agentId: string;
  };
  const body = JSON.stringify({ agent: agentId, ...EXECUTION });
  const request: LoadRequest = {
    method: 'POST',
    path: '/api/v1/policies/evaluate',
    body,
    headers: { 'X-API-Key': key },
  };
  const { requestsPerSecond } = await load(service, [request], seconds);
  return requestsPerSecond * seconds;
}

/** Makes calls like an agent without a gateway: requests each action, and reports the outcome. */
async function directCalls(url: string, key: string, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const { agentId } = (await postJson({ url, key, agent, path: '/api/v1/me', method: 'GET' })) as { agentId: string };
  const end = performance.now() + seconds * 1_000;
  let calls = 0;
  const keepCalling = async (): Promise<void> => {
    while (performance.now() < end) {
      const path = `/api/v1/agents/${agentId}/execute`;
      const { id } = (await postJson({ url, key, agent, path, body: EXECUTION })) as { id: string };
      const result = { outcome: 'executed', result: { status: 200, bytes: 33 } };
      await postJson({ url, key, agent, path: `/api/v1/executions/${id}/result`, body: result });
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, keepCalling));
  agent.destroy();
  return calls;
}

interface JsonRequest {
  readonly url: string;
  readonly key: string;
  readonly path: string;
  readonly method?: string;
  readonly agent?: Agent;
  readonly body?: object;
}

function postJson({ url, key, path, method = 'POST', agent, body }: JsonRequest): Promise<unknown> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    'X-API-Key': key,
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const sent = sendRequest(`${url}${path}`, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const answer = Buffer.concat(chunks).toString();
        if (response.statusCode !== undefined && response.statusCode < 300) resolve(JSON.parse(answer));
        else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${answer}`));
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

function printWays(ways: readonly Way[], { rounds, seconds }: Effort): void {
  const rows = ways.map(({ name, figures }) => [
    name,
    number(median(figures.map(({ requestsPerSecond }) => requestsPerSecond))),
    number(median(figures.map(({ processorMicroseconds }) => processorMicroseconds))),
  ]);
  printTable([`A call, ${rounds} × ${seconds} s, ${CONNECTIONS} connections`, 'calls/s', 'processor µs/call'], rows);
  printLine();
  const figuresOf = (name: string, figure: keyof Figures): number[] =>
    ways.find((way) => way.name === name)?.figures.map((round) => round[figure]) ?? [];
  const print = (
    name: string,
    figure: keyof Figures,
    [first, second]: readonly [string, string],
    bar: Parameters<typeof printRatio>[2],
  ): void => {
    if (figuresOf(second, figure).length === 0) return;
    printRatio(name, ratioOf(figuresOf(first, figure), figuresOf(second, figure)), bar);
  };
  print('gateway / execute and result, processor', 'processorMicroseconds', ['gateway', 'execute and result'], {
    atMost: 1.25,
  });
  print('gateway / nginx with auth_request, calls/s', 'requestsPerSecond', ['gateway', 'nginx'], 0.7);
  const [unrecorded, evaluate] = ['gateway, record: false', 'evaluate'].map((name) =>
    median(figuresOf(name, 'processorMicroseconds')),
  );
  const added = ((unrecorded ?? Number.NaN) - (evaluate ?? Number.NaN)) / 1_000;
  printSingleRatio('record: false beyond an evaluate, processor ms', added, { atMost: 1 });
}

/** Measures calls of ten agents at once, each with a hundred connections. */
async function printManyCallers(gateway: RunningProgram, keys: readonly string[]): Promise<void> {
  const before = gateway.residentBytes;
  const begun = performance.now();
  const answers = await Promise.all(
    keys.map((key) => {
      const request: LoadRequest = { method: 'POST', path: `/vendor${INVOICE}`, headers: { 'X-API-Key': key } };
      return generateLoad(gateway.url, [request], { connections: CALLERS / AGENTS, seconds: 2 });
    }),
  );
  const elapsedSeconds = (performance.now() - begun) / 1_000;
  const calls = answers.reduce((sum, { times }) => sum + times.length, 0);
  const refused = answers.reduce((sum, answer) => sum + answer.refused, 0);
  printLine();
  printLine(`${number(CALLERS)} callers at once: ${number(calls / elapsedSeconds)} calls/s, ${refused} refused`);
  printSingleRatio('refused of 1,000 callers at once', refused / calls, { atMost: 0 });
  printSingleRatio('memory after 1,000 callers / before', gateway.residentBytes / before);
}

/** Measures the maximum memory while an answer of a gibibyte passes, in mebibytes above the memory before. */
async function printLargeAnswer(gateway: RunningProgram, key: string): Promise<void> {
  const before = gateway.residentBytes;
  let most = before;
  let bytes = 0;
  const response = await fetch(`${gateway.url}/vendor/large/${LARGE_MEGABYTES}`, { headers: { 'X-API-Key': key } });
  const begun = performance.now();
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    most = Math.max(most, gateway.residentBytes);
  }
  const seconds = (performance.now() - begun) / 1_000;
  if (bytes !== LARGE_MEGABYTES * MEGABYTE) throw new Error(`The answer had ${bytes} bytes.`);
  printLine(`An answer of ${LARGE_MEGABYTES} MiB: ${number(LARGE_MEGABYTES / seconds)} MiB/s`);
  printSingleRatio('memory added by an answer of 1 GiB, MiB', (most - before) / MEGABYTE, { atMost: 128 });
}
