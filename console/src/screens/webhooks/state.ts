import type { Webhook } from '../../api/types.js';

/** The state of the deliveries of a webhook. */
export interface DeliveryState {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly text: string;
  /** True if resuming would have an effect. */
  readonly mayResume: boolean;
}

const GONE = 410;

/** Describes the result of the last delivery and, if deliveries have stopped, the reason. */
export function deliveryState({ status, delivery }: Pick<Webhook, 'status' | 'delivery'>): DeliveryState {
  const { lastAttemptAt, lastStatus, nextAttemptAt } = delivery;
  if (status === 'failing') {
    const end = 'Nothing is delivered until it is resumed; nothing is lost until then.';
    const why =
      lastStatus === GONE
        ? 'The endpoint answered 410, which means that it is gone for good.'
        : `Deliveries were not confirmed for 72 hours. At last ${answerText(lastStatus)}.`;
    return { tone: 'bad', text: `${why} ${end}`, mayResume: true };
  }
  if (nextAttemptAt !== null)
    return {
      tone: 'warn',
      mayResume: true,
      text: `The last delivery was not confirmed: ${answerText(lastStatus)}. Those that follow wait for it.`,
    };
  if (lastAttemptAt === null) return { tone: 'good', text: 'Nothing had to be delivered yet.', mayResume: false };
  // Somebody set the webhook to continue after another entry.
  if (lastStatus === null || lastStatus < 200 || lastStatus >= 300)
    return {
      tone: 'warn',
      mayResume: false,
      text: `The last delivery was not confirmed: ${answerText(lastStatus)}. Nothing has been delivered since.`,
    };
  return { tone: 'good', text: 'The last delivery was confirmed.', mayResume: false };
}

/** Returns what an endpoint answered, for the middle of a sentence. */
export function answerText(status: number | null): string {
  if (status === null)
    return 'there was no answer: its name was not found, its address is not allowed, it could not be reached, or it took too long';
  if (status >= 300 && status < 400) return `the endpoint answered ${status}, and redirects are not followed`;
  return `the endpoint answered ${status}`;
}
