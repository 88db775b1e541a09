import { setTimeout as delay } from 'node:timers/promises';
import { load } from '../http/load';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import { number, printLine, printSingleRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import type { Workplace } from '../support/workplace';

const MEGABYTE = 1_000_000;
const REQUEST = { method: 'POST', path: '/api/v1/entities', body: JSON.stringify(SAMPLE_REQUEST) } as const;
/** Seconds of load between two samples. */
const STEP = 10;
/**
 * Samples under load: a minute, as the collector lets garbage grow for half of it before the process keeps its size.
 */
const STEPS = 6;
/** Seconds of rest after a load. */
const REST = 5;

/** Measures the resident set of the process: after its start, during a minute under load, and after that. */
export async function benchmarkMemory(workplace: Workplace): Promise<void> {
  const service = await ServerProcess.start(workplace, 'service', 'memory');
  const samples: [when: string, megabytes: number][] = [];
  const note = (when: string): number => {
    const megabytes = service.residentBytes / MEGABYTE;
    samples.push([when, megabytes]);
    return megabytes;
  };
  const startMegabytes = note('started');
  const underLoad: number[] = [];
  for (let step = 1; step <= STEPS; step += 1) {
    await load(service, [REQUEST], STEP);
    underLoad.push(note(`after ${step * STEP} s of POST at 64 connections`));
  }
  await delay(REST * 1000);
  const restMegabytes = note(`${REST} s later`);
  printTable(
    ['memory held', 'MB'],
    samples.map(([when, megabytes]) => [when, number(megabytes)]),
  );
  printLine();
  printSingleRatio('memory after load and rest / at start', restMegabytes / startMegabytes);
  printSingleRatio('most memory in the second half minute / in the first', secondHalfToFirst(underLoad));
}

/** Near 1 if memory has levelled off; with a leak it keeps growing. */
function secondHalfToFirst(megabytes: readonly number[]): number {
  const half = megabytes.length / 2;
  return Math.max(...megabytes.slice(half)) / Math.max(...megabytes.slice(0, half));
}
