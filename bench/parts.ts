import { benchmarkAccess } from './access-part';
import { benchmarkConsole } from './console/console-part';
import { benchmarkEvaluation } from './evaluate-part';
import { benchmarkExecution } from './execution-part';
import { benchmarkGateway } from './gateway/gateway-part';
import { benchmarkGrowth } from './growth/growth-part';
import { benchmarkHostileClients } from './hostile/hostile-part';
import { benchmarkHttp } from './http/http-part';
import { benchmarkLedger, benchmarkLedgerOnPostgres } from './ledger/ledger-part';
import { benchmarkMemory } from './memory/memory-part';
import { benchmarkMove } from './move/move-part';
import { benchmarkPlans } from './plan-part';
import { benchmarkConditions } from './policies/conditions-part';
import { benchmarkPolicies } from './policies/policies-part';
import { benchmarkReplay } from './replay-part';
import { benchmarkReport } from './report/report-part';
import { benchmarkReplicas } from './replicas/replicas-part';
import { benchmarkStart } from './start/start-part';
import type { Effort } from './support/effort';
import type { Workplace } from './support/workplace';
import { benchmarkSyncs } from './syncs/syncs-part';
import { benchmarkVerification } from './verification/verification-part';

export const PART_NAMES = [
  'http',
  'ledger',
  'postgres',
  'replicas',
  'syncs',
  'memory',
  'start',
  'hostile',
  'policies',
  'conditions',
  'execute',
  'gateway',
  'evaluate',
  'plan',
  'access',
  'replay',
  'report',
  'console',
  'verify',
  'growth',
  'move',
] as const;
export type PartName = (typeof PART_NAMES)[number];

interface Part {
  readonly title: string;
  run(workplace: Workplace, effort: Effort): Promise<void>;
}

export const PARTS: Readonly<Record<PartName, Part>> = {
  http: { title: 'Requests, at 64 connections', run: benchmarkHttp },
  ledger: { title: 'The ledger alone, in process, 64 callers', run: benchmarkLedger },
  postgres: { title: 'The ledger alone on PostgreSQL, 64 callers', run: benchmarkLedgerOnPostgres },
  replicas: { title: 'Two replicas on one PostgreSQL', run: benchmarkReplicas },
  syncs: { title: 'Syncs of the disk', run: benchmarkSyncs },
  start: { title: 'A start', run: benchmarkStart },
  memory: { title: 'Memory', run: benchmarkMemory },
  hostile: { title: 'A client next to hostile ones', run: benchmarkHostileClients },
  conditions: { title: 'One question under 50,000 conditions', run: benchmarkConditions },
  policies: { title: 'Policy evaluation, one thread', run: benchmarkPolicies },
  execute: { title: 'Execute, with 1,000 policies in force against 1', run: benchmarkExecution },
  gateway: { title: 'The gateway', run: benchmarkGateway },
  evaluate: { title: 'Evaluate in lists, and execute with conditions', run: benchmarkEvaluation },
  plan: { title: 'Plans of changes to policies', run: benchmarkPlans },
  access: { title: 'What an agent may do', run: benchmarkAccess },
  replay: { title: 'Replay of 100,000 executions', run: benchmarkReplay },
  report: { title: 'A report on 1,000,000 executions', run: benchmarkReport },
  console: { title: 'The console, with 10,000 decisions pending', run: benchmarkConsole },
  verify: { title: 'Verification of 100,000 entries', run: benchmarkVerification },
  growth: { title: 'Growth, from 10,000 rows to 1,000,000', run: benchmarkGrowth },
  move: { title: 'Moving to PostgreSQL', run: benchmarkMove },
};
