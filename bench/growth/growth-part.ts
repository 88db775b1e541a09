import { SAMPLE_REQUEST } from '../http/sample-entity';
import type { Effort } from '../support/effort';
import { number, printLine, printRatio, printSingleRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { seed, type Volume } from './seed';

const SMALL: Volume = { entities: 10_000, policies: 100 };
const LARGE: Volume = { entities: 1_000_000, policies: 10_000 };
/** Bar of the ratio to the time at 10,000 rows. */
const BAR = { atMost: 1.3 } as const;
/**
 * Number of requests of one kind to each server, per round and per second of `--seconds`. They are sent one at a time,
 * to the servers in turns.
 */
const REQUESTS_PER_SECOND = 100;
const PATH = '/api/v1/entities';

type RequestParts = readonly [method: string, path: string, body?: object];

/** A kind of request, with a function that makes it for a server with a given volume. */
interface Question {
  readonly title: string;
  readonly request: (server: ServerProcess, volume: Volume) => Promise<RequestParts>;
  /** Set if the time may grow with the rows: the ratio then has no bar. */
  readonly mayGrow?: true;
}

const QUESTIONS: readonly Question[] = [
  { title: 'POST /entities', request: async () => ['POST', PATH, SAMPLE_REQUEST] },
  { title: 'GET /entities/:id', request: async (...place) => ['GET', `${PATH}/${await middleId(...place)}`] },
  { title: 'first page of 50', request: async () => ['GET', PATH] },
  { title: 'first page of a type', request: async () => ['GET', `${PATH}?type=type-3`] },
  {
    title: 'last page but one, by cursor',
    request: async (...place) => ['GET', `${PATH}?cursor=${await deepCursor(...place)}`],
  },
  {
    title: 'audit of an entity',
    request: async (...place) => ['GET', `/api/v1/audit?entityId=${await middleId(...place)}`],
  },
  { title: 'audit of an action', request: async () => ['GET', '/api/v1/audit?action=entity.created'] },
  { title: 'audit from a time on', request: async () => ['GET', '/api/v1/audit?from=2999-01-01'] },
  { title: 'GET /stats', request: async () => ['GET', '/api/v1/stats'] },
  {
    title: 'proof of inclusion',
    request: async (_server, { entities }) => ['GET', `/api/v1/provenance/${Math.floor(entities / 3)}/proof`],
    mayGrow: true,
  },
];

/** Measures the same requests with a hundred times as many rows. */
export async function benchmarkGrowth(workplace: Workplace, effort: Effort): Promise<void> {
  const databases = [
    { name: 'ten thousand', volume: SMALL },
    { name: 'a million', volume: LARGE },
  ] as const;
  for (const { name, volume } of databases) await seed(workplace.path(`${name}.db`), volume);
  const [small, large] = [
    await ServerProcess.start(workplace, 'service', databases[0].name),
    await ServerProcess.start(workplace, 'service', databases[1].name),
  ];
  const atRest = large.residentBytes / small.residentBytes;
  await compare(small, large, effort);
  printSingleRatio('memory at rest: 1,000,000 rows and 10,000 policies / 10,000 and 100', atRest);
}

/** Asks both servers alternately, so that other load on the machine affects both. */
export async function compare(small: ServerProcess, large: ServerProcess, { seconds, rounds }: Effort): Promise<void> {
  const requests = Math.ceil(seconds * REQUESTS_PER_SECOND);
  const table: string[][] = [];
  const ratios: (() => void)[] = [];
  for (const { title, request, mayGrow } of QUESTIONS) {
    const sides = [
      { server: small, parts: await request(small, SMALL), medians: [] as number[] },
      { server: large, parts: await request(large, LARGE), medians: [] as number[] },
    ] as const;
    // The first round warms up the JIT compiler, and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const times = sides.map(() => [] as number[]);
      for (let round = 0; round < requests; round += 1) {
        for (const [index, { server, parts }] of sides.entries()) times[index]?.push(await measureTime(server, parts));
      }
      if (round > 0) sides.forEach(({ medians }, index) => medians.push(median(times[index] ?? [])));
    }
    const [less, more] = sides.map(({ medians }) => medians);
    table.push([title, ...sides.map(({ medians }) => number(median(medians), 2))]);
    const ratio = ratioOf(more ?? [], less ?? []);
    const bar = mayGrow === true ? null : BAR;
    ratios.push(() => printRatio(`${title}: time at 1,000,000 / at 10,000`, ratio, bar));
  }
  printTable([`median ms, ${rounds} × ${requests} requests, one at a time`, '10,000', '1,000,000'], table);
  printLine();
  for (const print of ratios) print();
  const megabytes = [small, large].map(({ residentBytes }) => number(residentBytes / 1e6));
  printLine(`\nmemory held, 10,000 and 1,000,000 rows: ${megabytes.join(' and ')} MB`);
}

async function measureTime(server: ServerProcess, [method, path, body]: RequestParts): Promise<number> {
  const start = performance.now();
  await server.send(method, path, body);
  return performance.now() - start;
}

interface EntityPage {
  readonly data: readonly { readonly id: string }[];
  readonly nextCursor?: string;
}

async function middleId(server: ServerProcess, { entities }: Volume): Promise<string> {
  const page = (await server.send('GET', `${PATH}?limit=1&offset=${entities / 2}`)) as EntityPage;
  return page.data[0]?.id ?? '';
}

/** Returns the cursor of the last page but one. The page before it is read once, by its offset. */
async function deepCursor(server: ServerProcess, { entities }: Volume): Promise<string> {
  const page = (await server.send('GET', `${PATH}?offset=${entities - 150}`)) as EntityPage;
  return page.nextCursor ?? '';
}
