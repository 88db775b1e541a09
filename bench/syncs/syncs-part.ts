import { load } from '../http/load';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import type { Effort } from '../support/effort';
import { printLine, printRatio, printSingleRatio } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { SyncTrace } from './sync-trace';

const BARS = { crowd: { atMost: 0.05 }, alone: { atMost: 1 } } as const;
const LONE_WRITES = 100;
const PATH = '/api/v1/entities';

/** Number of system calls per write by which the process syncs to disk. */
export async function benchmarkSyncs(workplace: Workplace, { seconds }: Effort): Promise<void> {
  const service = await ServerProcess.start(workplace, 'service', 'syncs');
  const trace = await SyncTrace.start(workplace, service.processId);
  if (trace === null) {
    printLine('SKIPPED: syncs are counted by strace, which is missing here or may not trace.');
    return;
  }
  await load(service, [{ method: 'POST', path: PATH, body: JSON.stringify(SAMPLE_REQUEST) }], seconds);
  const crowd = trace.calls / (await entitiesOf(service));
  const alone: number[] = [];
  for (let index = 0; index < LONE_WRITES; index += 1) {
    const before = trace.calls;
    await service.send('POST', PATH, SAMPLE_REQUEST);
    alone.push(trace.calls - before);
  }
  await trace.stop();
  printLine();
  printSingleRatio('fsync and fdatasync per write at 64 callers', crowd, BARS.crowd);
  // A few writes come with a checkpoint of the write-ahead log, which syncs both files: the spread shows it.
  const once = alone.map(() => 1);
  printRatio('fsync and fdatasync per lone write', ratioOf(alone, once), BARS.alone);
}

async function entitiesOf(service: ServerProcess): Promise<number> {
  const { entities } = (await service.send('GET', '/api/v1/stats')) as { entities: number };
  return entities;
}
