// Answers each line of its input, a question, by a line: the claims of the permit, or why it is refused.
import { verifyPermit } from 'agent-governance-client/permits';
import { createInterface } from 'node:readline';

const used = new Set();
const SEEN = {
  true: (jti) => !used.has(jti) && used.add(jti) !== undefined,
  later: () => Promise.resolve(false),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { token, once, ...expected } = JSON.parse(line);
  const answer = await verifyPermit(token, { ...expected, seen: SEEN[once] }).catch(({ name, message }) => ({
    name,
    message,
  }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
