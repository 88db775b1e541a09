export const COMMAND_KINDS = ['create entity', 'add claim', 'create agent', 'approve', 'execute'] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

/** Callers that write at the same time, each its next command when the previous one is answered. */
export const CALLERS = 64;

/** What a loop is asked to do: so many commands of one kind, after it has made the records they need. */
export interface LoopOrder {
  readonly kind: CommandKind;
  readonly commands: number;
}

/** What the loop took for it. */
export interface LoopFigures {
  readonly commandsPerSecond: number;
  /** Milliseconds from the call of a command to its result. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time per command, all threads together. */
  readonly processorMicroseconds: number;
}
