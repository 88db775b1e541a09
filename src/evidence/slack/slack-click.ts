import { createHmac, timingSafeEqual } from 'node:crypto';
import { invalidField } from '../../core/errors/domain-error';
import { toJsonValue } from '../../core/json/json-value';
import { textFault } from '../../http/validation/shapes';
import { type Click, CLICKS, COMMENT } from '../webhooks/messages/chat-messages';

/** A click on a message, with its comment. */
export interface SlackClick {
  readonly action: Click;
  readonly decisionId: string;
  /** `<team>/<user>`. */
  readonly slackId: string;
  /** Comment; null if nothing was written. */
  readonly comment: string | null;
  /** URL at which Slack takes the reply; null if it is not one of Slack's own addresses. */
  readonly responseUrl: string | null;
}

const HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);
const MAX_COMMENT_CHARACTERS = 2_000;

/**
 * Reads the click from the body of a request that Slack has signed; null if it is about no message of ours. @throws
 * VALIDATION_ERROR
 */
export function readClick(body: string): SlackClick | null {
  const payload = parsed(new URLSearchParams(body).get('payload') ?? '');
  if (payload === undefined) throw invalidField('payload', 'must be the JSON of an interaction');
  const clicked = textIn(payload, 'actions', '0', 'action_id');
  const action = CLICKS.find((name) => name === clicked);
  const decisionId = textIn(payload, 'actions', '0', 'value');
  const user = textIn(payload, 'user', 'id');
  // In a shared channel, the user may be of another team than the message.
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
 * Returns the URL if it is at one of Slack's own hosts: with another URL, a click could send decisions elsewhere, or
 * reach addresses that only the service can.
 */
function slackUrl(text: string | undefined): string | null {
  if (text === undefined || !URL.canParse(text)) return null;
  const { protocol, hostname, port, username } = new URL(text);
  return protocol === 'https:' && HOSTS.has(hostname) && port === '' && username === '' ? text : null;
}

/** Parses JSON; undefined if the text is not JSON, or has texts that no record can hold. */
function parsed(text: string): unknown {
  try {
    return toJsonValue(JSON.parse(text), 'payload');
  } catch {
    return undefined;
  }
}

/** Returns the text at the end of a path of members. */
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

/** Signature headers of a request from Slack, and its body as it was sent. */
export interface SignedRequest {
  /** Seconds since 1970. */
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
}

/** Returns why a request is not signed by Slack within the last minutes; undefined if it is. */
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
