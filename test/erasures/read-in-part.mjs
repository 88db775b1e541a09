/**
 * Reads an export, from standard input, up to a sequence, as of a database that a running service goes on writing: what
 * comes after is only looked up. Prints what the verifier finds.
 */
import { text } from 'node:stream/consumers';
import { Chain } from '../../verifier/chain.mjs';
import { Findings } from '../../verifier/findings.mjs';

const upTo = Number(process.argv[2]);
const lines = (await text(process.stdin)).trimEnd().split('\n').slice(0, -1);
const entries = lines.map((line) => JSON.parse(line));
const findings = new Findings();
const chain = new Chain(findings, new Set());
for (const entry of entries) if (entry.sequence <= upTo) await chain.add(entry);
await chain.requireErasures(async (sequence) => entries.find((entry) => entry.sequence === sequence));
process.stdout.write(JSON.stringify(findings.first));
