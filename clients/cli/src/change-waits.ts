import { type Command, Option } from 'commander';
import { agentNames, withName } from './agent-names.js';
import { groupText } from './group-text.js';
import { plain, printError } from './output.js';
import { timeSpan } from './time-span.js';
import { sleep } from '../../typescript/src/sleep.js';
import { isTemporary } from '../../typescript/src/transport.js';
import {
  type ChangeDecision,
  type ChangeWaits,
  type GovernanceClient,
  GovernanceError,
} from '../../typescript/src/index.js';

/** Seconds for which the service holds one request. */
const MAX_HOLD_SECONDS = 50;
/** Milliseconds between two requests if the service does not hold them. */
const PAUSE_MS = 1_500;
/** Longest wait, an ISO 8601 duration: after that time the decision has expired. */
const MAX_WAIT = 'P7D';

interface ChangeOptions {
  readonly wait?: number;
  readonly breakGlass?: string;
}

/** Options of the running command about a change that needs a second person. */
let running: ChangeOptions = {};

/** Adds the options about a second person to a command whose change may need one. */
export function withChangeWait(command: Command): Command {
  const wait = new Option('--wait [duration]', 'if the change needs a second person, wait for that, and make it')
    .argParser(timeSpan)
    .preset(MAX_WAIT);
  return command
    .addOption(wait)
    .option('--break-glass <reason>', 'in an emergency: make it without a second person, on record. Needs admin')
    .hook('preAction', (_command, action) => {
      const { wait: patience, breakGlass } = action.opts<ChangeOptions>();
      running = { ...(patience !== undefined && { wait: patience }), ...(breakGlass !== undefined && { breakGlass }) };
      // The options are removed, because some actions send their options to the service.
      for (const name of ['wait', 'breakGlass']) action.setOptionValue(name, undefined);
    });
}

/** Sends the reason of an emergency, if the running command has one, with every request that is no GET. */
export function withBreakGlass(send: typeof fetch): typeof fetch {
  return (url, request) => {
    const { breakGlass } = running;
    if (breakGlass === undefined || request?.method === 'GET') return send(url, request);
    const headers = new Headers(request?.headers);
    headers.set('Break-Glass', encodeURIComponent(breakGlass));
    return send(url, { ...request, headers });
  };
}

/** Prints on stderr what a change waits for, and waits for its approval as long as the option --wait says. */
export function changeWaits(governance: () => GovernanceClient): ChangeWaits {
  return {
    approval: async (decision) => {
      printError(plain(proposedText(decision)));
      const settled = await settledDecision(governance(), decision);
      if (settled.status === 'proposed') throw stillPending(settled);
      if (settled.status !== 'approved') throw notApproved(settled);
      printError(await approvedText(governance(), settled));
    },
    made: ({ id }) => printError(plain(`Made, by ${id}.`)),
  };
}

function proposedText({ id, change, status, approvers, reviews }: ChangeDecision): string {
  const text = `${change?.summary ?? ''} Proposed: ${id}. Nothing has changed yet.`;
  if (status !== 'proposed') return text;
  const reviewed = reviews.length === 0 ? 'nobody has reviewed it' : `${reviews.length} have reviewed it`;
  return `${text} Waiting for ${(approvers ?? []).map(groupText).join(' and ')}; ${reviewed}.`;
}

async function settledDecision(governance: GovernanceClient, proposed: ChangeDecision): Promise<ChangeDecision> {
  const end = performance.now() + (running.wait ?? 0);
  let decision = proposed;
  while (decision.status === 'proposed' && performance.now() < end) {
    const wait = Math.max(1, Math.min(MAX_HOLD_SECONDS, Math.ceil((end - performance.now()) / 1_000)));
    try {
      decision = await governance.get('/api/v1/decisions/{id}', { path: { id: decision.id }, query: { wait } });
    } catch (error) {
      // The service may be starting again, and the decision outlasts that.
      if (!(error instanceof GovernanceError && isTemporary(error))) throw error;
    }
    if (decision.status === 'proposed') await sleep(Math.max(0, Math.min(PAUSE_MS, end - performance.now())));
  }
  return decision;
}

async function approvedText(governance: GovernanceClient, { reviews }: ChangeDecision): Promise<string> {
  const ids = reviews.flatMap(({ approverId }) => approverId ?? []);
  // A key that may not read agents gets ids without names.
  const names = await agentNames(governance, ids).catch(() => new Map<string, string>());
  return plain(`Approved by ${ids.map((id) => withName(id, names)).join(', ')}.`);
}

function stillPending({ id }: ChangeDecision): GovernanceError {
  const message =
    `Nothing has changed yet: ${id} waits for a second person, who finds it with \`gov inbox\`. ` +
    'Once it is approved, run the same command again: that makes the change. With --wait, the command waits for it.';
  return new GovernanceError(message, { code: 'CHANGE_PENDING', status: 202, decisionId: id });
}

function notApproved({ id, status, reviews }: ChangeDecision): GovernanceError {
  const comment = reviews.find(({ verdict }) => verdict === 'reject')?.comment ?? null;
  const words = comment === null ? '' : ` The words of the reviewer who rejected it: ${JSON.stringify(comment)}`;
  const message = `Nothing has changed: the decision ${id} on this change is ${status}.${words}`;
  return new GovernanceError(message, { code: 'CHANGE_NOT_APPROVED', status: null, decisionId: id });
}
