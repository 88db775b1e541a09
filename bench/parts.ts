import { benchmarkExecution } from './execution-part';
import { benchmarkGrowth } from './growth/growth-part';
import { benchmarkHttp } from './http/http-part';
import { benchmarkLedger } from './ledger/ledger-part';
import type { Workplace } from './support/workplace';
import { benchmarkVerification } from './verification/verification-part';

export const PART_NAMES = ['http', 'ledger', 'execute', 'verify', 'growth'] as const;
export type PartName = (typeof PART_NAMES)[number];

/** How long and how often each thing is measured. */
export interface Effort {
  /** Of one measurement. */
  readonly seconds: number;
  /** Measurements of each thing, alternating with those of its references. */
  readonly rounds: number;
}

interface Part {
  readonly title: string;
  run(workplace: Workplace, effort: Effort): Promise<void>;
}

export const PARTS: Readonly<Record<PartName, Part>> = {
  http: { title: 'Requests, at 64 connections', run: benchmarkHttp },
  ledger: { title: 'The ledger alone, in process, 64 callers', run: benchmarkLedger },
  execute: { title: 'Execute, with 1,000 policies in force against 1', run: benchmarkExecution },
  verify: { title: 'Verification of 100,000 entries', run: benchmarkVerification },
  growth: { title: 'Growth, from 10,000 rows to 1,000,000', run: benchmarkGrowth },
};
