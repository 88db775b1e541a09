import type { Execution } from './api-types.js';
import { limitTexts } from './limit-text.js';

const FORBIDDEN = 403;
/** Maximum number of characters that are shown of an answer that is not the service's. */
const EXCERPT = 200;
/** Maximum number of characters that are shown of a reviewer's words. */
const MAX_WORDS_LENGTH = 500;

/** Why a field of a request was refused. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** The words of the reviewer who rejected an action, and the action that the reviewer would approve instead. */
type Rejection = NonNullable<Execution['rejection']>;

/** The members of an error besides its message. */
export interface ErrorFacts {
  /** The code of the service, such as `POLICY_DENIED`; `UNREACHABLE` if there was no answer. */
  readonly code: string;
  /** HTTP status; null if there was no answer. */
  readonly status: number | null;
  /** A more exact code for programs, such as `approval_rejected`; null if `code` is sufficient. */
  readonly reason?: string | null;
  /** Identifies the request in the logs of the service. */
  readonly requestId?: string | null;
  readonly details?: readonly FieldFault[];
  readonly rejection?: Rejection | null;
  readonly decisionId?: string | null;
  readonly executionId?: string | null;
  readonly cause?: unknown;
}

/** Every refusal and failure of the service. Branch on `code` and `reason`; the message is for people. */
export class GovernanceError extends Error {
  override readonly name: string = 'GovernanceError';
  readonly code: string;
  readonly status: number | null;
  readonly reason: string | null;
  readonly requestId: string | null;
  readonly details: readonly FieldFault[];
  /** Null unless a reviewer rejected the action. */
  readonly rejection: Rejection | null;
  /** The decision that the refusal is about; null without one. */
  readonly decisionId: string | null;
  /** The execution that records the refusal of an execute; null otherwise. */
  readonly executionId: string | null;
  /**
   * The explanation of a denial, and of what would change it, by `POST /policies/evaluate`. Null unless policies, or
   * the state of the agent, denied the action to `guard`: it cannot explain, for example, a missing scope.
   */
  explanation: unknown = null;
  /** True if the request may have been carried out: the service may have received it, and gave no answer of its own. */
  isOutcomeUnknown = false;

  constructor(message: string, facts: ErrorFacts) {
    const { code, status, reason, requestId, details, rejection, cause } = facts;
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.reason = reason ?? null;
    this.requestId = requestId ?? null;
    this.details = details ?? [];
    this.rejection = rejection ?? null;
    this.decisionId = facts.decisionId ?? null;
    this.executionId = facts.executionId ?? null;
  }

  /**
   * The message, a reviewer's words, the reason, and the explanation: which policies decided, and which would change
   * the answer.
   */
  explained(): string {
    const reason = this.status === FORBIDDEN && this.reason !== null ? [`Reason: ${this.reason}.`] : [];
    return [this.message, ...reason, ...explanationLines(this.explanation as Explanation | null)].join('\n');
  }
}

/** Returns a reviewer's words, marked as such, on one line and cut if they are long; empty if there are none. */
export function reviewersWords(rejection: Rejection | null | undefined): string {
  const { comment, instead } = rejection ?? { comment: null, instead: null };
  const words = comment ? [`The words of the reviewer who rejected it: ${JSON.stringify(cut(comment))}`] : [];
  if (instead !== null) {
    const condition = instead.grantId === null ? 'when requested' : 'which may be executed once';
    words.push(`What the reviewer would approve instead, ${condition}: ${cut(JSON.stringify(instead.parameters))}`);
  }
  return words.join(' ');
}

function cut(text: string): string {
  const characters = [...text];
  return characters.length > MAX_WORDS_LENGTH ? `${characters.slice(0, MAX_WORDS_LENGTH).join('')}… (cut)` : text;
}

interface PolicyName {
  readonly name: string;
  readonly version: string;
}

/** The relevant members of the answer of `POST /policies/evaluate`. */
interface Explanation {
  readonly effect: string;
  readonly policies: readonly PolicyName[];
  readonly explanation?: Parameters<typeof limitTexts>[0] & {
    readonly nearest: readonly { readonly policy: PolicyName; readonly missing: readonly string[] }[];
  };
}

function explanationLines(facts: Explanation | null): string[] {
  if (facts?.effect !== 'deny') return [];
  const { policies, explanation } = facts;
  return [
    ...policies.map(({ name, version }) => `Decided by the policy ${name} ${version}.`),
    ...(explanation === undefined ? [] : limitTexts(explanation)),
    ...(explanation?.nearest ?? []).map(
      ({ policy: { name, version }, missing }) =>
        `The policy ${name} ${version} would change that if its ${missing.join(' and ')} matched.`,
    ),
  ];
}

/** Reads the body of a refusal; any other body, such as of a proxy in between, becomes the code `UNEXPECTED_ANSWER`. */
export function errorOf(status: number, text: string): GovernanceError {
  const error = errorMember(text);
  if (error === null) return unexpectedAnswer(text, status);
  const { code, message, reason, requestId, details, rejection, decisionId, executionId } = error;
  return new GovernanceError([message, reviewersWords(rejection)].join(' ').trim(), {
    code,
    status,
    reason: reason ?? null,
    requestId: requestId ?? null,
    details: details ?? [],
    rejection: rejection ?? null,
    decisionId: decisionId ?? null,
    executionId: executionId ?? null,
  });
}

/**
 * Returns the error for an answer that is not the service's, such as a proxy's.
 * @param status null for a success: it is then unknown if the request was carried out
 */
export function unexpectedAnswer(text: string, status: number | null, cause?: unknown): GovernanceError {
  const excerpt = `${status === null ? '' : `${status} `}${text.slice(0, EXCERPT)}`;
  const message = `The answer is not the governance service's: ${excerpt}`;
  const error = new GovernanceError(message, { code: 'UNEXPECTED_ANSWER', status, cause });
  error.isOutcomeUnknown = status === null;
  return error;
}

interface ErrorMember {
  readonly code: string;
  readonly message: string;
  readonly reason?: string;
  readonly requestId?: string;
  readonly details?: readonly FieldFault[];
  readonly rejection?: Rejection;
  readonly decisionId?: string;
  readonly executionId?: string;
}

function errorMember(text: string): ErrorMember | null {
  try {
    const { error } = JSON.parse(text) as { error?: Partial<ErrorMember> };
    return typeof error?.code === 'string' && typeof error.message === 'string' ? (error as ErrorMember) : null;
  } catch {
    return null;
  }
}
