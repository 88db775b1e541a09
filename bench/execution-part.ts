import { benchmarkFacts } from './execution-facts';
import { benchmarkSecrets, benchmarkTeams } from './execution-pair';
import { benchmarkForwardAuth } from './forward-auth';
import type { Effort } from './support/effort';
import { load } from './http/load';
import { LoopProcess } from './ledger/loop-process';
import { AGENT, EXECUTION, policies } from './ledger/samples';
import { printLine, printRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import { ratioOf } from './support/statistics';
import type { Workplace } from './support/workplace';

const NUMBERS_OF_POLICIES = [1, 1_000] as const;
const BAR = 0.8;
const COMMANDS_PER_SECOND = 10_000;

type Rates = Record<(typeof NUMBERS_OF_POLICIES)[number], number[]>;

/** Measures the cost of a thousand policies in force for an execution that one of them decides. */
export async function benchmarkExecution(workplace: Workplace, effort: Effort): Promise<void> {
  printLine();
  report('executions/s over HTTP: 1,000 policies / 1', await overHttp(workplace, effort));
  report('executions/s of the ledger alone: 1,000 policies / 1', await inProcess(workplace, effort));
  await benchmarkFacts(workplace, effort);
  await benchmarkTeams(workplace, effort);
  await benchmarkSecrets(workplace, effort);
  await benchmarkForwardAuth(workplace, effort);
}

function report(title: string, rates: Rates): void {
  printRatio(title, ratioOf(rates[1_000], rates[1]), BAR);
}

async function overHttp(workplace: Workplace, { seconds, rounds }: Effort): Promise<Rates> {
  const services = new Map<keyof Rates, ServerProcess>();
  for (const count of NUMBERS_OF_POLICIES) services.set(count, await serviceWith(workplace, count));
  const request = {
    method: 'POST',
    path: `/api/v1/agents/${AGENT_NAME}/execute`,
    body: JSON.stringify(EXECUTION),
  } as const;
  return measureInTurns(
    rounds,
    services,
    async (service) => (await load(service, [request], seconds)).requestsPerSecond,
  );
}

const AGENT_NAME = 'invoice-bot';

async function serviceWith(workplace: Workplace, count: number): Promise<ServerProcess> {
  const service = await ServerProcess.start(workplace, 'service', `${count}-policies`);
  for (const policy of policies(count)) await service.send('POST', '/api/v1/policies', policy);
  await service.send('POST', '/api/v1/agents', { ...AGENT, name: AGENT_NAME });
  return service;
}

async function inProcess(workplace: Workplace, { seconds, rounds }: Effort): Promise<Rates> {
  const loops = new Map<keyof Rates, LoopProcess>();
  for (const count of NUMBERS_OF_POLICIES) {
    loops.set(count, await LoopProcess.start(workplace, 'ledger', `${count}-policies-alone`, [String(count)]));
  }
  const order = { kind: 'execute', commands: Math.ceil(seconds * COMMANDS_PER_SECOND) } as const;
  return measureInTurns(rounds, loops, async (loop) => (await loop.run(order)).commandsPerSecond);
}

/** Measures the targets in turns. The first round warms up the JIT compiler, and is not counted. */
async function measureInTurns<Target>(
  rounds: number,
  targets: ReadonlyMap<keyof Rates, Target>,
  rateOf: (target: Target) => Promise<number>,
): Promise<Rates> {
  const rates: Rates = { 1: [], 1_000: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const [count, target] of targets) {
      const rate = await rateOf(target);
      if (round > 0) rates[count].push(rate);
    }
  }
  return rates;
}
