import { Injectable } from '@nestjs/common';
import { Configuration } from '../core/config/configuration';
import type { Caller } from '../ledger/kinds/caller';
import { Gate, type GateSettings, type Pass } from '../core/concurrency/gate';
import type { ServiceRequest } from './request/service-request';

type Limits = Pick<Configuration, 'bodyTotalLimit' | 'answerTotalLimit' | 'maxWaiting' | 'maxEventStreams'>;

const NOTHING_SENT: ServiceRequest['sent'] = { body: {}, query: {} };
/** Requests beyond the limit do not wait; they are refused at once. */
const NONE_WAIT = { mostWaiting: 0, longest: 0 };

/** All gates that requests pass. The table in docs/operations.md is made from it: see gates.spec.ts. */
export const GATES = {
  bodies: ({ bodyTotalLimit: most }: Limits): GateSettings => ({
    label: 'bytes of bodies above 16 KiB',
    most,
    mostEach: half(most),
    mostWaiting: Infinity,
    longest: 10_000,
  }),
  answers: ({ answerTotalLimit: most }: Limits): GateSettings => ({
    label: 'bytes of answers above 16 KiB that wait for their clients to read them',
    most,
    mostEach: half(most),
    ...NONE_WAIT,
  }),
  lists: (): GateSettings => ({
    label: 'lists being read',
    most: 3,
    mostEach: 2,
    mostWaiting: Infinity,
    longest: Infinity,
  }),
  /** All directories count together. */
  directory: (): GateSettings => ({
    label: 'requests of a directory',
    most: 1,
    mostEach: 1,
    mostWaiting: 200,
    longest: Infinity,
  }),
  waits: ({ maxWaiting: most }: Limits): GateSettings => ({
    label: 'requests that wait for an outcome',
    most,
    mostEach: 100,
    ...NONE_WAIT,
  }),
  eventStreams: ({ maxEventStreams: most }: Limits): GateSettings => ({
    label: 'event streams',
    most,
    mostEach: 20,
    ...NONE_WAIT,
  }),
  exports: (): GateSettings => ({ label: 'exports and decision files', most: 3, mostEach: 2, ...NONE_WAIT }),
  questions: (): GateSettings => ({
    label: 'evaluations for which policies look something up',
    most: 8,
    mostEach: 4,
    mostWaiting: Infinity,
    longest: Infinity,
  }),
  plans: (): GateSettings => ({ label: 'plans', most: 1, mostEach: 1, mostWaiting: 1, longest: Infinity }),
  replays: (): GateSettings => ({ label: 'replays', most: 1, mostEach: 1, mostWaiting: 1, longest: Infinity }),
  reports: (): GateSettings => ({ label: 'reports', most: 1, mostEach: 1, mostWaiting: 4, longest: 30_000 }),
  applications: (): GateSettings => ({
    label: 'applications of policies',
    most: 1,
    mostEach: 1,
    mostWaiting: 20,
    longest: 10_000,
  }),
  pastQuestions: (): GateSettings => ({
    label: 'questions about an earlier time',
    most: 1,
    mostEach: 1,
    mostWaiting: 20,
    longest: 10_000,
  }),
} as const satisfies Record<string, (limits: Limits) => GateSettings>;

type GateName = keyof typeof GATES;

/** Limits what is worked on at a time: each use has a gate of its own. */
@Injectable()
export class Gates {
  private readonly gates = new Map<GateName, Gate>();

  constructor(private readonly limits: Configuration) {}

  get(name: GateName): Gate {
    const gate = this.gates.get(name) ?? new Gate(GATES[name](this.limits));
    this.gates.set(name, gate);
    return gate;
  }
}

function half(most: number): number {
  return Math.max(1, Math.floor(most / 2));
}

/** Returns the name of a caller for limits that count callers, not addresses. */
export function callerKey({ actor: { type, id } }: Caller): string {
  return `${type} ${id}`;
}

/**
 * Keeps a pass until the request is answered, even if its client leaves, because the memory of the request is still in
 * use.
 */
export function holdUntilAnswered(request: ServiceRequest, pass: Pass): void {
  request.passes = [...(request.passes ?? []), pass];
}

/**
 * Gives back the passes of an answered request, and drops its body: Node.js keeps the last request of each connection
 * until the next one comes.
 */
export function leaveGates(request: ServiceRequest): void {
  request.passes?.forEach((pass) => pass.leave());
  request.body = undefined;
  request.sent = NOTHING_SENT;
}
