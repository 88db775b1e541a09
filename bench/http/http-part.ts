import type { Request } from 'autocannon';
import type { Effort } from '../parts';
import { number, printLine, printRatio, printTable } from '../support/report';
import { type ServerName, ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { load, type LoadFigures } from './load';
import { SAMPLE_REQUEST } from './sample-entity';

const PATH = '/api/v1/entities';
const READ_ENTITIES = 100;
const SERVERS: readonly ServerName[] = ['service', 'empty pipeline', 'express echo'];
const BARS = { POST: 0.45, GET: 0.55 } as const;

type Figures = Readonly<Record<ServerName, LoadFigures[]>>;

/** The service against its own request pipeline without a database, and against a bare Express server. */
export async function benchmarkHttp(workplace: Workplace, effort: Effort): Promise<void> {
  const servers = new Map<ServerName, ServerProcess>();
  for (const name of SERVERS) servers.set(name, await ServerProcess.start(workplace, name, name));
  const requests = {
    POST: [{ method: 'POST', path: PATH, body: JSON.stringify(SAMPLE_REQUEST) }],
    GET: await readRequests(servers.get('service')),
  } as const;
  for (const method of ['POST', 'GET'] as const) {
    report(method, await measure(servers, [...requests[method]], effort), effort);
  }
}

async function readRequests(service: ServerProcess | undefined): Promise<Request[]> {
  const requests: Request[] = [];
  while (requests.length < READ_ENTITIES) {
    const { id } = (await service?.send('POST', PATH, SAMPLE_REQUEST)) as { id: string };
    requests.push({ method: 'GET', path: `${PATH}/${id}` });
  }
  return requests;
}

async function measure(
  servers: ReadonlyMap<ServerName, ServerProcess>,
  requests: Request[],
  { seconds, rounds }: Effort,
): Promise<Figures> {
  const figures: Figures = { service: [], 'empty pipeline': [], 'express echo': [] };
  // The first round is for the compiler of the engine, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, server] of servers) {
      const measured = await load(server, requests, seconds);
      if (round > 0) figures[name].push(measured);
    }
  }
  return figures;
}

function report(method: 'POST' | 'GET', figures: Figures, { seconds, rounds }: Effort): void {
  const title = method === 'POST' ? `durable POST ${PATH}` : `GET ${PATH}/:id`;
  const header = [
    `${title}, ${rounds} × ${seconds} s`,
    'requests/s',
    'p50 ms',
    'p90 ms',
    'p99 ms',
    'processor µs/request',
  ];
  const row = (name: ServerName): string[] => [
    name,
    number(middle(figures[name], 'requestsPerSecond')),
    ...(['p50', 'p90', 'p99'] as const).map((member) => number(middle(figures[name], member), 1)),
    number(middle(figures[name], 'processorMicroseconds')),
  ];
  printTable(header, SERVERS.map(row));
  printLine();
  const rate = (name: ServerName): number[] => figures[name].map(({ requestsPerSecond }) => requestsPerSecond);
  const processor = (name: ServerName): number[] => figures[name].map((round) => round.processorMicroseconds);
  printRatio('requests/s: service / empty pipeline', ratioOf(rate('service'), rate('empty pipeline')), BARS[method]);
  printRatio('requests/s: service / express echo', ratioOf(rate('service'), rate('express echo')));
  printRatio('processor: service / empty pipeline', ratioOf(processor('service'), processor('empty pipeline')));
  printRatio('processor: service / express echo', ratioOf(processor('service'), processor('express echo')));
}

function middle(rounds: readonly LoadFigures[], member: keyof LoadFigures): number {
  return median(rounds.map((round) => round[member]));
}
