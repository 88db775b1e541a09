import { load } from '../http/load';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import type { Effort } from '../support/effort';
import { postgresDatabase, postgresVersion } from '../support/postgres-server';
import { number, printLine, printRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';

/** Bar of the ratio to the requests that one process serves alone. */
const BAR = 0.9;
const REQUEST = { method: 'POST', path: '/api/v1/entities', body: JSON.stringify(SAMPLE_REQUEST) } as const;

/** Compares two processes that write one chain, under twice the load, with one process on a database of its own. */
export async function benchmarkReplicas(workplace: Workplace, { seconds, rounds, postgres }: Effort): Promise<void> {
  if ((await postgresVersion(postgres)) === undefined) {
    printLine(`SKIPPED: no PostgreSQL answers at ${postgres}.`);
    return;
  }
  const alone = await ServerProcess.start(workplace, 'service', 'alone', await postgresDatabase(workplace, postgres));
  const database = await postgresDatabase(workplace, postgres);
  const pair = [
    await ServerProcess.start(workplace, 'service', 'first of two', database),
    await ServerProcess.start(workplace, 'service', 'second of two', database),
  ];
  const [oneReplica, twoReplicas]: [number[], number[]] = [[], []];
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const single = await requestsPerSecond([alone], seconds);
    const together = await requestsPerSecond(pair, seconds);
    if (round === 0) continue;
    oneReplica.push(single);
    twoReplicas.push(together);
  }
  printTable(
    ['durable POST /entities', 'requests/s'],
    [
      ['one process', number(median(oneReplica))],
      ['two processes together', number(median(twoReplicas))],
    ],
  );
  printLine();
  printRatio('requests/s: two replicas together / one alone', ratioOf(twoReplicas, oneReplica), BAR);
}

async function requestsPerSecond(servers: readonly ServerProcess[], seconds: number): Promise<number> {
  const figures = await Promise.all(servers.map((server) => load(server, [REQUEST], seconds)));
  return figures.reduce((sum, figure) => sum + figure.requestsPerSecond, 0);
}
