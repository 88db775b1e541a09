import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject, JsonValue } from '../../src/core/json/json-value';
import { number, printSingleRatio, printTable } from '../support/report';
import type { ServerProcess } from '../support/server-process';
import { API_KEY } from '../support/settings';
import type { Workplace } from '../support/workplace';
import { HealthProbe } from '../verification/health-probe';
import { type JsonSchema, largestBody, type Schemas } from './largest-body';

interface Operation {
  readonly requestBody?: {
    readonly content?: Readonly<
      Record<string, { readonly schema: JsonSchema; readonly example?: JsonValue; readonly examples?: Examples }>
    >;
  };
}

type Examples = Readonly<Record<string, { readonly value: JsonValue }>>;

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schemas };
}

/** The delay of other requests by one request; times are in milliseconds. */
interface Stall {
  readonly route: string;
  /** The status of the last answer. */
  readonly status: number;
  readonly wait: number;
  readonly turn: number;
}

/** Sources are compiled into `node_modules/.cache/bench`. */
const DOCUMENT = join(__dirname, '../../../../../openapi.json');
const AGENT = 'largest-bodies';
const NO_RECORD = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
/** Number of requests of each kind. The longest wait counts. */
const REPEATED = 3;
/** Maximum milliseconds that a turn of the event loop should take. */
const BAR = 50;
/** The longest turn since the metrics were last read, in seconds; it is rounded up by at most 10 ms. */
const LONGEST_TURN = /^nodejs_eventloop_lag_max_seconds (\S+)$/m;
const HEADERS = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };

/**
 * Measures the delay of other requests by the largest body of each route: the longest wait of `GET /health`, which may
 * last several turns of the event loop, and the longest of these turns. The routes and the bodies come from the API
 * document, so a new route is measured as well. Ids that the routes need beyond an entity and an agent name no record:
 * these bodies are read, checked and refused.
 */
export async function benchmarkRouteStalls(service: ServerProcess, workplace: Workplace): Promise<void> {
  const { paths, components } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as ApiDocument;
  const entityId = await createRecords(service);
  const rows: Stall[] = [];
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const content = requestBody?.content?.['application/json'];
      if (content === undefined) continue;
      const example = content.example ?? Object.values(content.examples ?? {})[0]?.value ?? {};
      const body = JSON.stringify(largestBody(example as JsonObject, content.schema, components.schemas, path));
      const bodyFile = workplace.path('largest-body.json');
      writeFileSync(bodyFile, body);
      const words = ['--request', method.toUpperCase(), '--data-binary', `@${bodyFile}`];
      const route = `${method.toUpperCase()} ${path}, ${number(body.length / 1024)} KiB`;
      const request = [...words, service.url + pathOf(path, entityId)];
      rows.push({ route, ...(await longestStall(service, request)) });
    }
  }
  printTable(
    ['GET /health during the largest body of each route', 'status', 'longest wait, ms', 'longest turn, ms'],
    rows.map(({ route, status, wait, turn }) => [route, String(status), number(wait, 1), number(turn, 1)]),
  );
  const longest = Math.max(...rows.map(({ turn }) => turn));
  printSingleRatio(`longest turn during any largest body / ${BAR} ms`, longest / BAR, { atMost: 1 });
}

function pathOf(path: string, entityId: string): string {
  const id = path.includes('/entities/') ? entityId : path.includes('/agents/') ? AGENT : NO_RECORD;
  return path.replace('{id}', id).replaceAll(/\{\w+\}/g, NO_RECORD);
}

/** Creates an agent and an entity; returns the entity's id. */
async function createRecords({ url }: ServerProcess): Promise<string> {
  const create = async (path: string, body: JsonObject): Promise<string> => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path} was answered ${response.status}.`);
    return ((await response.json()) as { readonly id: string }).id;
  };
  await create('agents', { name: AGENT, description: '', capabilities: ['*'] });
  return create('entities', { type: 'customer', name: 'Example Ltd', properties: {} });
}

/**
 * Sends a request several times, by curl: while this process wrote a body of 8 MB, it would notice the answers to its
 * probes late.
 */
async function longestStall(service: ServerProcess, request: readonly string[]): Promise<Omit<Stall, 'route'>> {
  let status = 0;
  await longestTurn(service);
  const probe = new HealthProbe(service.url);
  const headers = Object.entries(HEADERS).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const output = ['--silent', '--output', '/dev/null', '--write-out', '%{http_code}'];
  for (let index = 0; index < REPEATED; index += 1) {
    const { stdout } = await promisify(execFile)('curl', [...output, ...headers, ...request]);
    status = Number(stdout);
  }
  const { latencies } = await probe.stop();
  return { status, wait: Math.max(0, ...latencies), turn: await longestTurn(service) };
}

/** Milliseconds of the longest turn since the last call. */
async function longestTurn({ url }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: HEADERS })).text();
  const [, seconds] = LONGEST_TURN.exec(text) ?? [];
  if (seconds === undefined) throw new Error('The metrics do not have the longest turn of the event loop.');
  return Number(seconds) * 1_000;
}
