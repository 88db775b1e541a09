import type { Command } from 'commander';
import { counted, plain, printJson, printLine, printTable, styled } from '../output.js';
import { client } from '../settings.js';
import type { Schemas } from '../../../typescript/src/index.js';

type Report = Schemas['OversightResponse'];

interface ReportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly bucket?: 'hour' | 'day' | 'week';
  readonly markdown?: boolean;
  readonly json?: boolean;
}

/** A part of the report: rows of cells under the names of their columns. */
interface Part {
  readonly title: string;
  /** The purpose of the part, for an auditor. */
  readonly serves: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Number of further rows that are all zeros. */
  readonly zeros?: number;
}

type Row = readonly (string | number | null)[];

/** Characters with a meaning in Markdown, which are escaped in names. */
const MARKUP = /[^\p{L}\p{N} ./-]|(?<=www)\./giu;

export function addReportCommand(program: Command): void {
  program
    .command('report')
    .description('report what agents requested in a period, what was refused and why, and who approved how fast')
    .option('--from <time>', 'begin at this date (UTC) or time with a zone; by default 30 days before the end')
    .option('--to <time>', 'end before this date or time; by default now')
    .option('--bucket <length>', 'count by hour, day or week')
    .option('--markdown', 'as a Markdown document')
    .option('--json', 'as JSON, as the service answers it')
    .action(report);
}

async function report({ from, to, bucket, markdown, json }: ReportOptions): Promise<void> {
  const query = {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(bucket === undefined ? {} : { bucket }),
  };
  const answer = await client().get('/api/v1/reports/oversight', { query });
  if (json === true) printJson(answer);
  else if (markdown === true) printMarkdown(answer);
  else printText(answer);
}

function printText(answer: Report): void {
  printLine(styled('bold', `From ${answer.from} to ${answer.to}`));
  for (const { title, columns, rows, zeros = 0 } of partsOf(answer)) {
    printLine(`\n${styled('bold', title)}`);
    printTable(
      rows,
      columns.map((name, index) => ({ title: name.toUpperCase(), value: (row) => cellText(row[index]) })),
    );
    if (zeros > 0) printLine(styled('dim', zerosText(zeros)));
  }
  printLine(`\n${answer.chain.checkpoint.trim()}`);
}

function printMarkdown(answer: Report): void {
  printLine(`# Oversight report\n\nFrom ${answer.from} to ${answer.to}.`);
  for (const { title, serves, columns, rows, zeros = 0 } of partsOf(answer)) {
    printLine(`\n## ${title}\n\n${serves}.\n`);
    if (rows.length === 0) printLine('None.');
    else
      printLine(`| ${columns.join(' | ')} |\n|${columns.map((_, index) => (index === 0 ? '---|' : '---:|')).join('')}`);
    for (const row of rows) printLine(`| ${row.map((cell) => inMarkdown(cellText(cell))).join(' | ')} |`);
    if (zeros > 0) printLine(`\n${zerosText(zeros)}`);
  }
  printLine(`\n## Checkpoint\n\nIt seals the entries from which all this can be computed again.\n`);
  printLine(answer.chain.checkpoint.trim().replace(/^/gm, '    '));
}

function zerosText(count: number): string {
  return `${counted(count, 'row')} of zeros left out.`;
}

function cellText(cell: string | number | null | undefined): string {
  return cell === null || cell === undefined ? '–' : String(cell);
}

/** Escapes a text so that Markdown shows it unchanged. */
function inMarkdown(text: string): string {
  return plain(text).replace(MARKUP, (character) => `&#${character.codePointAt(0) ?? 0};`);
}

function partsOf({ requests, reasons, agents, approvals, policies, unused, ...header }: Report): Part[] {
  const { proposed, approved, rejected, expired, cancelled, byReviewer } = approvals;
  const { stops, erasures, grants, changes, chain } = header;
  const requestRows = requests
    .map(({ start, allowed, approval_requested: approval, denied, executed, failed, observed }) => {
      return [start, allowed, approval, denied, executed, failed, observed];
    })
    .filter(([, ...counts]) => counts.some((count) => count !== 0));
  return [
    {
      title: 'Requests',
      serves: serves('12, 26(5)', '9.4, 9.6'),
      columns: ['From', 'Allowed', 'Asked for approval', 'Denied', 'Executed', 'Failed', 'Observed'],
      rows: requestRows,
      zeros: requests.length - requestRows.length,
    },
    {
      title: 'Refused, and why',
      serves: serves('12, 26(5)', '9.6, 9.7'),
      columns: ['Reason', 'Refusals'],
      rows: reasons.map(({ reason, count }) => [reason, count]),
    },
    {
      title: 'Agents',
      serves: serves('12, 26(5)', '9.4'),
      columns: ['Agent', 'Team', 'Allowed', 'Asked for approval', 'Denied'],
      rows: agents.map((agent) => [agent.name, agent.team, agent.allowed, agent.approvals, agent.denied]),
    },
    {
      title: 'Decisions',
      serves: serves('14(4), 26(2)', '9.2'),
      columns: ['Decisions', 'How many'],
      rows: [
        ['proposed', proposed],
        ['approved', approved],
        ['rejected', rejected],
        ['expired', expired],
        ['cancelled', cancelled],
        ['waiting', proposed - approved - rejected - expired - cancelled],
        ['settled within ten seconds', approvals.withinTenSeconds],
        ['median seconds until settled', approvals.medianSeconds],
        ['95% settled within, seconds', approvals.p95Seconds],
      ],
    },
    {
      title: 'Reviewers',
      serves: serves('14(4), 26(2)', '9.2'),
      columns: ['Reviewer', 'Approved', 'Rejected', 'Within ten seconds'],
      rows: byReviewer.map((reviewer) => [
        reviewer.name ?? 'keys without a name',
        reviewer.approved,
        reviewer.rejected,
        reviewer.withinTenSeconds,
      ]),
    },
    {
      title: 'Policies that decided',
      serves: serves('14, 26(1)', '9.6, 9.7'),
      columns: ['Policy', 'Version', 'Decided'],
      rows: policies.map(({ policy, decided }) => [policy.name, policy.version, decided]),
    },
    {
      title: 'Policies in force that decided nothing',
      serves: serves('14, 26(1)', '9.6, 9.7'),
      columns: ['Policy', 'Version'],
      rows: unused.map(({ name, version }) => [name, version]),
    },
    {
      title: 'Changes that need a second person',
      serves: serves('14(4), 26(1)', '9.6'),
      columns: ['Changes', 'How many'],
      rows: [
        ['proposed', changes.proposed],
        ['approved', changes.approved],
        ['rejected', changes.rejected],
        ['made', changes.made],
        ['made in an emergency', changes.breakGlass],
        ['emergencies that nobody has reviewed', changes.unreviewed],
      ],
    },
    {
      title: 'Evidence',
      serves: serves('12, 14(4)(e), 19, 26(6)', '9.1, 9.2, 9.4'),
      columns: ['What', 'How many'],
      rows: [
        ['stops made', stops],
        ['erasures', erasures],
        ['grants given', grants.minted],
        ['executions by a grant', grants.used],
        ['entries of the ledger', chain.size],
      ],
    },
  ];
}

function serves(articles: string, sections: string): string {
  return `EU AI Act, Articles ${articles}; OWASP AISVS ${sections}`;
}
