export const COMMAND_KINDS = ['create entity', 'add claim', 'create agent', 'approve', 'execute'] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

/** Number of callers that write at the same time. Each sends its next command when the previous one is answered. */
export const CALLERS = 64;

/** The order for a loop: a number of commands of one kind, after it has created the records that they need. */
export interface LoopOrder {
  readonly kind: CommandKind;
  readonly commands: number;
}

/** The time and work that a loop needed. */
export interface LoopFigures {
  readonly commandsPerSecond: number;
  /** Milliseconds from the call of a command to its result. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time per command, all threads together. */
  readonly processorMicroseconds: number;
}
