import type { Report } from './journal.js';

/** Characters of a reason that the service keeps. */
const MAX_CHARACTERS = 2_000;
/**
 * Control characters except line breaks and tabs, and halves of surrogate pairs: the service refuses a text with some
 * of them.
 */
const UNSTORABLE = /[^\P{Cc}\n\t]|\p{Surrogate}/gu;
const REPLACEMENT = '\ufffd';

/**
 * The report of a failure, with a text that the service accepts, whatever an upstream wrote: without a report, the call
 * could be repeated.
 */
export function failedReport(message: string, reason?: string): Report {
  const failureReason = storableText(message) || 'It failed without a reason.';
  return { outcome: 'failed', ...(reason !== undefined && { reason }), failureReason };
}

function storableText(message: string): string {
  // No character has more than two units.
  const start = [...message.trim().slice(0, 2 * MAX_CHARACTERS)].slice(0, MAX_CHARACTERS).join('');
  return start.replace(UNSTORABLE, REPLACEMENT).trim();
}
