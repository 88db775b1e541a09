import type { Decision } from '../../../governance/decisions/decision.entity';
import type { Execution } from '../../../governance/executions/execution.entity';
import { isAboutChange } from '../../../governance/decisions/changes/change';
import { hasSignedGroup } from '../../../governance/decisions/decision-rules';
import { wantedApprovals } from '../../../governance/policies/approval/approval-requirement';
import { escapedText, printableWords } from '../../../core/values/printable-text';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import type { MessageDetail } from '../webhook.entity';
import { timeInWords } from './time-words';

/** Records that a message describes, besides its entry. */
export interface DecisionFacts {
  /** Decision; null if a proposal was refused. */
  readonly decision: Decision | null;
  /** Execution that waits for the decision; null if none does. */
  readonly execution: Execution | null;
  /** Name of the agent that proposed the decision, or tried to. */
  readonly proposer: string;
  /** Name of the agent that reviewed; null if the entry is about no review. */
  readonly reviewer: string | null;
}

/** A text of a record, shown as plain text. */
interface Fact {
  readonly label: string;
  readonly text: string;
}

/** Contents of a message, before it has the form of its target. */
export interface Message {
  readonly title: string;
  readonly facts: readonly Fact[];
  /** Requested parameters as JSON; null if the message leaves them out. */
  readonly content: string | null;
  /** Link to the decision; null if the public URL of the service is unknown. */
  readonly link: string | null;
  /**
   * Reason why a reviewer cannot decide by the message, because a part is left out or hidden; null if all of it can be
   * read.
   */
  readonly caution: string | null;
}

/** Members of an entry that a message reports. */
type ReportedEntry = Pick<ParsedListedEntry, 'action' | 'reason' | 'outcome'>;

/** Escapes a text so that the target treats it as plain text. */
export type Escape = (text: string) => string;

/** Most characters of a fact, and of the requested parameters, after escaping. */
const MAX_FACT_CHARACTERS = 300;
const MAX_CONTENT_CHARACTERS = 2_800;

const TITLES: Readonly<Record<string, string>> = {
  'decision.proposed': 'A decision is needed',
  'decision.reviewed': 'A decision was reviewed and needs more approvals',
  'decision.escalated': 'A decision was not made in time and needs more people',
  'decision.approved': 'A decision was approved',
  'decision.rejected': 'A decision was rejected',
  'decision.expired': 'A decision expired',
  'decision.cancelled': 'A decision was cancelled',
  'decision.erased': 'A decision was erased',
};
const OTHER = 'A decision was not changed';

const NO_LINKS = 'Messages have no link to their decision: the service does not know its PUBLIC_URL.';

const CUT = 'Something here is cut. Read all of it before you decide.';
const HIDDEN = 'Something here cannot be seen, and is written as \\u and a number. Decide in the console.';

/** The message of a test. */
export function testMessage(publicUrl: string | null): Message {
  const [link, content] = publicUrl === null ? [null, NO_LINKS] : [`${publicUrl}/console`, null];
  return { title: 'A test of this webhook', facts: [], content, link, caution: null };
}

/** Settings of a message. */
interface Terms {
  readonly escape: Escape;
  readonly detail: MessageDetail;
  /** Time zone in which the message gives times, besides UTC. */
  readonly timeZone: string;
  readonly publicUrl: string | null;
  /** Maximum number of lines of the requested parameters; unlimited by default. */
  readonly maxLines?: number | undefined;
}

export function buildMessage(entry: ReportedEntry, facts: DecisionFacts, terms: Terms): Message {
  const { detail, publicUrl, escape } = terms;
  const { decision, proposer } = facts;
  const decisionFacts = decision === null ? [{ label: 'Agent', text: proposer }] : factsOf(decision, facts, terms);
  const allFacts = [...decisionFacts, ...refusalIn(entry)];
  const rawContent = decision === null || detail === 'reference' ? null : contentOf(decision, facts);
  const cuts = allFacts.map(({ label, text }) => ({ label, ...cut(text, MAX_FACT_CHARACTERS, escape) }));
  const content = rawContent === null ? null : cutContent(rawContent, terms);
  return {
    title: TITLES[entry.action] ?? OTHER,
    facts: cuts.map(({ label, text }) => ({ label, text })),
    content: content?.text ?? null,
    link: decision === null || publicUrl === null ? null : decisionLink(publicUrl, decision.id),
    caution: cautionOf([...cuts, ...(content === null ? [] : [content])]),
  };
}

function cautionOf(texts: readonly Pick<ShownPart, 'isCut' | 'hasHidden'>[]): string | null {
  if (texts.some(({ isCut }) => isCut)) return CUT;
  return texts.some(({ hasHidden }) => hasHidden) ? HIDDEN : null;
}

/** True if a click in the message can decide; not if a signature is needed. */
export function isForClicks(decision: Decision): boolean {
  return decision.status === 'proposed' && !hasSignedGroup(decision) && !isAboutChange(decision);
}

/** Returns the URL of the console's page for the decision. */
function decisionLink(publicUrl: string, decisionId: string): string {
  return `${publicUrl}/console/decisions/${decisionId}`;
}

function factsOf(decision: Decision, facts: DecisionFacts, { detail, timeZone }: Terms): Fact[] {
  const { execution, proposer, reviewer } = facts;
  const { type, riskLevel, expiresAt, onBehalfOf, run, approvers, requiredApprovals, title, description } = decision;
  const target = execution === null ? title : `${execution.resourceType}/${execution.resourceId}`;
  const needs = approvers === null ? String(requiredApprovals) : wantedApprovals(approvers);
  const kind = execution === null ? type : execution.action;
  const lines: (readonly [label: string, text: string | null])[] = [
    ['Agent', proposer],
    ['For', detail === 'full' ? (onBehalfOf?.subject ?? null) : null],
    [execution === null ? 'Type' : 'Action', kind],
    [execution === null ? 'Title' : 'On', detail === 'full' ? target : null],
    ['Description', detail === 'full' && description !== '' ? description : null],
    ['Risk', riskLevel],
    ['Run', detail === 'full' ? run : null],
    ['Needs approvals', detail === 'full' ? needs : null],
    ['Until', expiresAt === null ? null : timeInWords(expiresAt, timeZone)],
    ['Reviewed by', reviewer],
    ['Decision', decision.id],
  ];
  return lines.flatMap(([label, text]) => (text === null ? [] : [{ label, text }]));
}

/** Returns why somebody was refused, in the service's own words; words of people could be misleading. */
function refusalIn({ action, reason, outcome }: ReportedEntry): Fact[] {
  return outcome === 'success' ? [] : [{ label: 'Refused', text: `${action} (${reason ?? outcome})` }];
}

function contentOf(decision: Decision, { execution }: DecisionFacts): string | null {
  const value = execution === null ? decision.context : execution.parameters;
  return Object.keys(value).length === 0 ? null : JSON.stringify(value, null, 2);
}

/** Cuts the requested parameters to the allowed lines, and then to the allowed characters. */
function cutContent(text: string, { escape, maxLines = Infinity }: Terms): ShownPart {
  const lines = text.split('\n');
  const content = cut(lines.slice(0, maxLines).join('\n'), MAX_CONTENT_CHARACTERS, escape);
  return lines.length <= maxLines || content.isCut ? content : { ...content, text: `${content.text}\n…`, isCut: true };
}

/** A text of a record as a message shows it. */
interface ShownPart {
  readonly text: string;
  readonly isCut: boolean;
  /** True if a part that is invisible was written out. */
  readonly hasHidden: boolean;
}

/** Matches an escape, or a character. */
const PIECE = /\\u[\da-f]{4}|./gsu;

/**
 * Returns the longest beginning of a text, of whole characters, that is at most `max` characters long once it is
 * escaped.
 */
function cut(text: string, max: number, escape: Escape): ShownPart {
  const lines = shownLines(text.slice(0, max + 1));
  const hasHidden = lines !== text.slice(0, max + 1);
  let [length, end] = [0, 0];
  for (const [piece] of lines.matchAll(PIECE)) {
    length += escape(piece).length;
    if (length > max) return { text: `${escape(lines.slice(0, end))}…`, isCut: true, hasHidden };
    end += piece.length;
  }
  return { text: escape(lines), isCut: false, hasHidden };
}

/** Matches empty lines in a row, which push text out of sight. */
const FAR_LINES = /\n(?: *\n){2,}/g;

/** Matches up to 24 blanks at the beginning of a line, by which JSON is laid out. */
const INDENT = /^ {0,24}/;

/** Returns the text with hiding and hidden characters written out; line breaks stay. */
function shownLines(text: string): string {
  return text.replace(FAR_LINES, escapedText).split('\n').map(shownLine).join('\n');
}

function shownLine(line: string): string {
  const [indent = ''] = INDENT.exec(line) ?? [];
  return indent + printableWords(line.slice(indent.length));
}
