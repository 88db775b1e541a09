/**
 * Prints, for the zones and instants on standard input, what the clock of the offline verifier reads, and when its
 * windows of limits begin.
 */
import { readingIn } from '../../verifier/evaluation/clock.mjs';
import { windowStart } from '../../verifier/evaluation/limits.mjs';

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const readings = JSON.parse(Buffer.concat(chunks).toString()).map(([zone, times]) =>
  times.map((time) => {
    const { day, minute } = readingIn(zone, new Date(time));
    return [day, minute, ...['day', 'week', 'month'].map((per) => windowStart({ per, zone }, new Date(time)))];
  }),
);
process.stdout.write(JSON.stringify(readings));
