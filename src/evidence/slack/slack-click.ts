import { createHmac, timingSafeEqual } from 'node:crypto';
import { invalidField } from '../../core/errors/domain-error';
import { toJsonValue } from '../../core/json/json-value';
import { textFault } from '../../http/validation/shapes';
import { type Click, CLICKS, COMMENT } from '../webhooks/messages/chat-messages';

/** What somebody did with a message. */
export interface SlackClick {
  readonly action: Click;
  readonly decisionId: string;
  /** `<team>/<user>`. */
  readonly slackId: string;
  /** Null: nothing was written. */
  readonly comment: string | null;
  /** Where Slack takes the reply; null if it is not one of Slack's own addresses. */
  readonly responseUrl: string | null;
}

const HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);
const MAX_COMMENT_CHARACTERS = 2_000;

/** The click in the body of a request that Slack has signed; null if it is about nothing of ours. @throws VALIDATION_ERROR */
export function readClick(body: string): SlackClick | null {
  const payload = parsed(new URLSearchParams(body).get('payload') ?? '');
  if (payload === undefined) throw invalidField('payload', 'must be the JSON of an interaction');
  const clicked = textIn(payload, 'actions', '0', 'action_id');
  const action = CLICKS.find((name) => name === clicked);
  const decisionId = textIn(payload, 'actions', '0', 'value');
  const user = textIn(payload, 'user', 'id');
  // Where channels are shared, the user may be of another team than the one whose message it is.
  const team = textIn(payload, 'user', 'team_id') ?? textIn(payload, 'team', 'id');
  if (action === undefined || decisionId === undefined || user === undefined || team === undefined) return null;
  const comment = textIn(payload, 'state', 'values', COMMENT, COMMENT, 'value')?.trim() ?? '';
  const fault = textFault(comment, { max: MAX_COMMENT_CHARACTERS, mayBeBlank: true });
  if (fault !== undefined) throw invalidField('payload', `has a comment that ${fault}`);
  return {
    action,
    decisionId,
    slackId: `${team}/${user}`,
    comment: comment === '' ? null : comment,
    responseUrl: slackUrl(textIn(payload, 'response_url')),
  };
}

/**
 * Only Slack's own hosts: with another URL, a click could send decisions elsewhere, or reach addresses that only the
 * service can.
 */
function slackUrl(text: string | undefined): string | null {
  if (text === undefined || !URL.canParse(text)) return null;
  const { protocol, hostname, port, username } = new URL(text);
  return protocol === 'https:' && HOSTS.has(hostname) && port === '' && username === '' ? text : null;
}

/** Undefined if it is not JSON, or has texts that no record can hold. */
function parsed(text: string): unknown {
  try {
    return toJsonValue(JSON.parse(text), 'payload');
  } catch {
    return undefined;
  }
}

/** The text at the end of a path of members. */
function textIn(value: unknown, ...path: readonly string[]): string | undefined {
  const member = path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name) ? Reflect.get(inner, name) : undefined,
    value,
  );
  return typeof member === 'string' ? member : undefined;
}

/** Seconds by which the clock of a request may differ from ours. */
const LEEWAY = 300;

/** What Slack says of a request, and its body as it was sent. */
export interface SignedRequest {
  /** Seconds since 1970. */
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
}

/** Why a request is not one that Slack has signed within the last minutes; undefined if it is. */
export function signatureFault(
  secret: string,
  { timestamp, signature, body }: SignedRequest,
  now: number,
): string | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'it has no X-Slack-Request-Timestamp';
  if (Math.abs(now / 1000 - Number(timestamp)) > LEEWAY)
    return 'its X-Slack-Request-Timestamp is more than five minutes from the clock of this machine';
  const expected = Buffer.from(`v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`);
  const received = Buffer.from(signature);
  const isEqual = received.length === expected.length && timingSafeEqual(received, expected);
  return isEqual ? undefined : 'its signature is not by SLACK_SIGNING_SECRET';
}
