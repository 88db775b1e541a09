import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../src/core/json/json-value';
import { number, printSingleRatio, printTable } from '../support/report';
import type { ServerProcess } from '../support/server-process';
import { API_KEY } from '../support/settings';
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

/** Sources are compiled into `node_modules/.cache/bench`. */
const DOCUMENT = join(__dirname, '../../../../../openapi.json');
const AGENT = 'largest-bodies';
const NO_RECORD = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
/** Requests of each kind. The longest wait of all counts. */
const REPEATED = 3;
/** Most milliseconds that a single request should hold up others. */
const BAR = 50;
const HEADERS = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };

/**
 * How long the largest body of each route holds up others: the longest wait of `GET /health`. The routes and the bodies come
 * from the API document, so a new route is measured as well. Ids that the routes need beyond an entity and an agent name no
 * record: these bodies are read, checked and refused.
 */
export async function benchmarkRouteStalls(service: ServerProcess): Promise<void> {
  const { paths, components } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as ApiDocument;
  const entityId = await createRecords(service);
  const rows: [string, number, number][] = [];
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const content = requestBody?.content?.['application/json'];
      if (content === undefined) continue;
      const example = content.example ?? Object.values(content.examples ?? {})[0]?.value ?? {};
      const body = JSON.stringify(largestBody(example as JsonObject, content.schema, components.schemas, path));
      const url = service.url + pathOf(path, entityId);
      const [status, longest] = await longestWait(service, () =>
        fetch(url, { method: method.toUpperCase(), headers: HEADERS, body }),
      );
      rows.push([`${method.toUpperCase()} ${path}, ${number(body.length / 1024)} KiB`, status, longest]);
    }
  }
  printTable(
    ['GET /health during the largest body of each route', 'status', 'longest wait, ms'],
    rows.map(([name, status, longest]) => [name, String(status), number(longest, 1)]),
  );
  const longest = Math.max(...rows.map(([, , wait]) => wait));
  printSingleRatio(`longest wait during any largest body / ${BAR} ms`, longest / BAR, { atMost: 1 });
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

/** The last status, and the longest wait in milliseconds. */
async function longestWait(service: ServerProcess, send: () => Promise<Response>): Promise<[number, number]> {
  let status = 0;
  const probe = new HealthProbe(service.url);
  for (let index = 0; index < REPEATED; index += 1) {
    const response = await send();
    await response.arrayBuffer();
    ({ status } = response);
  }
  const { latencies } = await probe.stop();
  return [status, Math.max(0, ...latencies)];
}
