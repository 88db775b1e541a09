import { setTimeout as delay } from 'node:timers/promises';
import { load } from '../http/load';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import type { Effort } from '../parts';
import { number, printLine, printSingleRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import type { Workplace } from '../support/workplace';

const MEGABYTE = 1_000_000;
const REQUEST = { method: 'POST', path: '/api/v1/entities', body: JSON.stringify(SAMPLE_REQUEST) } as const;
/** Seconds of rest after a load. */
const REST = 5;

/** What the process holds (resident set): started, under load, after it, and after as much again. */
export async function benchmarkMemory(workplace: Workplace, { seconds, rounds }: Effort): Promise<void> {
  const service = await ServerProcess.start(workplace, 'service', 'memory');
  const held: [when: string, megabytes: number][] = [];
  const note = (when: string): number => {
    const megabytes = service.residentBytes / MEGABYTE;
    held.push([when, megabytes]);
    return megabytes;
  };
  const started = note('started');
  await load(service, [REQUEST], seconds * rounds);
  note(`after ${seconds * rounds} s of POST at 64 connections`);
  await delay(REST * 1000);
  const once = note(`${REST} s later`);
  await load(service, [REQUEST], seconds * rounds);
  await delay(REST * 1000);
  const twice = note('after as much again, and rest');
  printTable(
    ['memory held', 'MB'],
    held.map(([when, megabytes]) => [when, number(megabytes)]),
  );
  printLine();
  printSingleRatio('memory after load and rest / at start', once / started);
  printSingleRatio('memory after twice the load / after once', twice / once);
}
