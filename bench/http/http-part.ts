import type { LoadRequest } from '../support/load-generator';
import type { Effort } from '../support/effort';
import { type Bar, number, printLine, printRatio, printTable } from '../support/report';
import { type ServerName, ServerProcess } from '../support/server-process';
import { median, type Ratio, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { issuedKeyReads } from './issued-key';
import { KEYED_POSTS } from './keyed-posts';
import { load, type LoadFigures } from './load';
import { benchmarkPair } from './request-pair';
import { AGENT, EXECUTION, policies } from '../ledger/samples';
import { SAMPLE_REQUEST } from './sample-entity';

const PATH = '/api/v1/entities';
const READ_ENTITIES = 100;
/** Rows on a page of the list that is measured. */
const PAGE = 50;

const KINDS = ['POST', 'GET', 'list', 'execute', 'AuthZEN'] as const;
type Kind = (typeof KINDS)[number];
type Figures = ReadonlyMap<ServerName, readonly LoadFigures[]>;

interface Measurement {
  readonly title: string;
  /** Distinguishes its ratios from those of the others. */
  readonly name: string;
  readonly servers: readonly ServerName[];
  readonly requests: readonly LoadRequest[];
  /** The requests to the references, if those do not have the route of `requests`. */
  readonly echoRequests?: readonly LoadRequest[];
  /** Minimum ratio of the requests per second to each reference. */
  readonly rateBars: Partial<Record<ServerName, number>>;
  /** Maximum ratio of the processor time to the echo's. */
  readonly processorBar?: number;
  /** Maximum ratio of the latency's p99 to its median. */
  readonly tailBar?: number;
}

const ALL: readonly ServerName[] = ['service', 'empty pipeline', 'express echo'];

/** Compares the service with its own request pipeline without a database, and with a bare Express server. */
export async function benchmarkHttp(workplace: Workplace, effort: Effort): Promise<void> {
  const servers = new Map<ServerName, ServerProcess>();
  for (const name of ALL) servers.set(name, await ServerProcess.start(workplace, name, name));
  const service = servers.get('service');
  if (service === undefined) throw new Error('The service is not among the servers.');
  const measurements = await measurementsOf(service);
  for (const kind of KINDS) {
    const measurement = measurements[kind];
    report(measurement, await measure(servers, measurement, effort), effort);
  }
  const [getRequest] = measurements.GET.requests;
  if (getRequest?.path === undefined) throw new Error('There is nothing to read.');
  await benchmarkPair(service, KEYED_POSTS, effort);
  await benchmarkPair(service, await issuedKeyReads(service, getRequest.path), effort);
}

async function measurementsOf(service: ServerProcess): Promise<Readonly<Record<Kind, Measurement>>> {
  const reads = await readRequests(service);
  const agent = 'invoice-bot';
  await service.send('POST', '/api/v1/agents', { ...AGENT, name: agent });
  for (const policy of policies(1)) await service.send('POST', '/api/v1/policies', policy);
  const execution = JSON.stringify(EXECUTION);
  return {
    POST: {
      title: `durable POST ${PATH}`,
      name: 'POST',
      servers: ALL,
      requests: [{ method: 'POST', path: PATH, body: JSON.stringify(SAMPLE_REQUEST) }],
      rateBars: { 'empty pipeline': 0.45, 'express echo': 0.7 },
      processorBar: 3,
      tailBar: 5,
    },
    GET: {
      title: `GET ${PATH}/:id`,
      name: 'GET by id',
      servers: ALL,
      requests: reads,
      rateBars: { 'empty pipeline': 0.55, 'express echo': 1.7 },
    },
    list: {
      title: `GET ${PATH}?limit=${PAGE}, with total`,
      name: `list of ${PAGE}`,
      servers: ['service', 'express echo'],
      requests: [{ method: 'GET', path: `${PATH}?limit=${PAGE}` }],
      echoRequests: reads,
      rateBars: { 'express echo': 0.45 },
    },
    execute: {
      title: 'POST /api/v1/agents/:id/execute, allowed by one policy',
      name: 'execute',
      servers: ['service', 'express echo'],
      requests: [{ method: 'POST', path: `/api/v1/agents/${agent}/execute`, body: execution }],
      echoRequests: [{ method: 'POST', path: PATH, body: execution }],
      rateBars: { 'express echo': 0.5 },
    },
    AuthZEN: {
      title: 'POST /access/v1/evaluation',
      name: 'AuthZEN evaluation',
      servers: ['service', 'empty pipeline'],
      requests: [{ method: 'POST', path: '/access/v1/evaluation', body: accessEvaluation(agent) }],
      echoRequests: [{ method: 'POST', path: PATH, body: JSON.stringify(SAMPLE_REQUEST) }],
      rateBars: { 'empty pipeline': 0.6 },
    },
  };
}

function accessEvaluation(agent: string): string {
  const { action, resourceType, resourceId } = EXECUTION;
  return JSON.stringify({
    subject: { type: 'agent', id: agent },
    action: { name: action },
    resource: { type: resourceType, id: resourceId },
  });
}

async function readRequests(service: ServerProcess): Promise<LoadRequest[]> {
  const requests: LoadRequest[] = [];
  while (requests.length < READ_ENTITIES) {
    const { id } = (await service.send('POST', PATH, SAMPLE_REQUEST)) as { id: string };
    requests.push({ method: 'GET', path: `${PATH}/${id}` });
  }
  return requests;
}

async function measure(
  servers: ReadonlyMap<ServerName, ServerProcess>,
  measurement: Measurement,
  { seconds, rounds }: Effort,
): Promise<Figures> {
  const figures = new Map<ServerName, LoadFigures[]>(measurement.servers.map((name) => [name, []]));
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, rates] of figures) {
      const server = servers.get(name);
      if (server === undefined) throw new Error(`There is no server ${name}.`);
      const loadFigures = await load(server, requestsTo(name, measurement), seconds);
      if (round > 0) rates.push(loadFigures);
    }
  }
  return figures;
}

function requestsTo(name: ServerName, { requests, echoRequests }: Measurement): LoadRequest[] {
  return [...(name === 'service' ? requests : (echoRequests ?? requests))];
}

function report(
  { title, name: serverName, servers, rateBars, processorBar, tailBar }: Measurement,
  figures: Figures,
  { seconds, rounds }: Effort,
): void {
  const columns = ['requests/s', 'p50 ms', 'p90 ms', 'p99 ms', 'processor µs/request'];
  const row = (name: ServerName): string[] => [
    name,
    number(median(member(figures, name, 'requestsPerSecond'))),
    ...(['p50', 'p90', 'p99'] as const).map((latency) => number(median(member(figures, name, latency)), 1)),
    number(median(member(figures, name, 'processorMicroseconds'))),
  ];
  printTable([`${title}, ${rounds} × ${seconds} s`, ...columns], servers.map(row));
  printLine();
  for (const reference of servers.slice(1)) {
    const ratio = (name: keyof LoadFigures): Ratio =>
      ratioOf(member(figures, 'service', name), member(figures, reference, name));
    printRatio(
      `${serverName}, requests/s: service / ${reference}`,
      ratio('requestsPerSecond'),
      rateBars[reference] ?? null,
    );
    const ceiling = reference === 'express echo' ? atMost(processorBar) : null;
    printRatio(`${serverName}, processor: service / ${reference}`, ratio('processorMicroseconds'), ceiling);
  }
  const tail = ratioOf(member(figures, 'service', 'p99'), member(figures, 'service', 'p50'));
  printRatio(`${serverName}, latency of the service: p99 / median`, tail, atMost(tailBar));
}

function member(figures: Figures, name: ServerName, figureName: keyof LoadFigures): number[] {
  return (figures.get(name) ?? []).map((round) => round[figureName]);
}

function atMost(bar: number | undefined): Bar | null {
  return bar === undefined ? null : { atMost: bar };
}
