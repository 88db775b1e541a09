import { createHmac, timingSafeEqual } from 'node:crypto';

/** Seconds by which the clock of a request may differ from ours. */
const LEEWAY = 300;

/** What Slack says of a request, and its body as it was sent. */
export interface SignedRequest {
  /** Seconds since 1970. */
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
}

/** Whether a request is by Slack and of these minutes, by version 0 of its signatures. @param now milliseconds. */
export function isSignedBySlack(secret: string, { timestamp, signature, body }: SignedRequest, now: number): boolean {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > LEEWAY) return false;
  const expected = Buffer.from(`v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
