import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { verify } from '../../../verifier/verify.mjs';

// For each line, the words of a command line and its standard input, prints a line with what the verifier does.
for await (const line of createInterface({ input: process.stdin })) {
  const { words, input } = JSON.parse(line);
  const printed = { output: '', errors: '' };
  const exitCode = await verify(words, {
    stdin: Readable.from([Buffer.from(input)]),
    stdout: { write: (text) => (printed.output += text) },
    stderr: { write: (text) => (printed.errors += text) },
  });
  process.stdout.write(`${JSON.stringify({ exitCode, ...printed })}\n`);
}
