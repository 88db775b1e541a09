import type { Decision } from '../../../governance/decisions/decision.entity';
import type { Execution } from '../../../governance/executions/execution.entity';
import { isAboutChange } from '../../../governance/decisions/changes/change';
import { hasSignedGroup } from '../../../governance/decisions/decision-rules';
import { wantedApprovals } from '../../../governance/policies/approval/approval-requirement';
import { escapedText, printableWords } from '../../../core/values/printable-text';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import type { MessageDetail } from '../webhook.entity';
import { timeInWords } from './time-words';

/** What a message is about, besides its entry. */
export interface DecisionFacts {
  /** Null: a proposal was refused. */
  readonly decision: Decision | null;
  /** What waits for it; null if nothing does. */
  readonly execution: Execution | null;
  /** The name of the agent that proposed it, or tried to. */
  readonly proposer: string;
  /** The name of the agent that reviewed; null if the entry is about no review. */
  readonly reviewer: string | null;
}

/** A text of a record, as its target shows it and nothing else. */
interface Fact {
  readonly label: string;
  readonly text: string;
}

/** What a message says, before it has the form of its target. */
export interface Message {
  readonly title: string;
  readonly facts: readonly Fact[];
  /** The requested parameters as JSON; null if the message leaves them out. */
  readonly content: string | null;
  /** Where the decision is; null if nobody knows at which URL the service is reached. */
  readonly link: string | null;
  /** Why a reviewer cannot decide by the message: something is left out or unseen; null if all of it can be read. */
  readonly caution: string | null;
}

/** What a message says of an entry. */
type ReportedEntry = Pick<ParsedListedEntry, 'action' | 'reason' | 'outcome'>;

/** What the target needs of a text to take it for nothing but text. */
export type Escape = (text: string) => string;

/** Characters of a fact, and of the requested parameters, after escaping. */
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

/** How a message says it. */
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

/** Whether a click in the message can decide. Where a signature is needed, it cannot. */
export function isForClicks(decision: Decision): boolean {
  return decision.status === 'proposed' && !hasSignedGroup(decision) && !isAboutChange(decision);
}

/** The page of the console on which it is decided. */
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

/** Why somebody was refused, in the service's own words; words of people could say anything. */
function refusalIn({ action, reason, outcome }: ReportedEntry): Fact[] {
  return outcome === 'success' ? [] : [{ label: 'Refused', text: `${action} (${reason ?? outcome})` }];
}

function contentOf(decision: Decision, { execution }: DecisionFacts): string | null {
  const value = execution === null ? decision.context : execution.parameters;
  return Object.keys(value).length === 0 ? null : JSON.stringify(value, null, 2);
}

/** Cuts the requested parameters to the allowed lines, and these to the allowed characters. */
function cutContent(text: string, { escape, maxLines = Infinity }: Terms): ShownPart {
  const lines = text.split('\n');
  const content = cut(lines.slice(0, maxLines).join('\n'), MAX_CONTENT_CHARACTERS, escape);
  return lines.length <= maxLines || content.isCut ? content : { ...content, text: `${content.text}\n…`, isCut: true };
}

/** A text of a record as a message shows it. */
interface ShownPart {
  readonly text: string;
  readonly isCut: boolean;
  /** True if something in it cannot be seen, and is written out. */
  readonly hasHidden: boolean;
}

/** An escape, or a character. */
const PIECE = /\\u[\da-f]{4}|./gsu;

/** The beginning of a text, whole characters of it, that is at most so long once it is escaped. */
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

/** Empty lines in a row, which push text out of sight. */
const FAR_LINES = /\n(?: *\n){2,}/g;

/** The most blanks at the beginning of a line: JSON is laid out by them. */
const INDENT = /^ {0,24}/;

/** Without what hides text or hides in it; lines stay. */
function shownLines(text: string): string {
  return text.replace(FAR_LINES, escapedText).split('\n').map(shownLine).join('\n');
}

function shownLine(line: string): string {
  const [indent = ''] = INDENT.exec(line) ?? [];
  return indent + printableWords(line.slice(indent.length));
}
