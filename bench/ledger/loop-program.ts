import type { LoopFigures, LoopOrder } from './command-kind';
import { percentile } from '../support/statistics';

/** Runs orders. `latencies` receives the milliseconds of each command. */
export interface CommandLoop {
  /** Creates the records that the commands need. This is not measured. */
  prepare(order: LoopOrder): Promise<void>;
  run(order: LoopOrder, latencies: number[]): Promise<void>;
  close(): Promise<void>;
}

/** Serves orders from the parent process until it ends. */
export async function serveOrders(open: () => Promise<CommandLoop>): Promise<void> {
  const loop = await open();
  process.on('message', (order: LoopOrder) => void answer(loop, order));
  process.on('SIGTERM', () => void loop.close().then(() => process.exit(0)));
  process.send?.('ready');
}

async function answer(loop: CommandLoop, order: LoopOrder): Promise<void> {
  try {
    await loop.prepare(order);
    process.send?.(await measure(loop, order));
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

async function measure(loop: CommandLoop, order: LoopOrder): Promise<LoopFigures> {
  const latencies: number[] = [];
  const processorBefore = process.cpuUsage();
  const start = performance.now();
  await loop.run(order, latencies);
  const seconds = (performance.now() - start) / 1000;
  const processor = process.cpuUsage(processorBefore);
  return {
    commandsPerSecond: order.commands / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    processorMicroseconds: (processor.user + processor.system) / order.commands,
  };
}
