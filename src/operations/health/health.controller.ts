import { Controller, Get, HttpStatus, Logger, Res } from '@nestjs/common';
import { ApiProperty, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Answers, ApiCount, ApiMember, ApiRoute } from '../../http/openapi/response-members';
import { Public, RateLimitBucket, RequiresScope } from '../../http/request/routes';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { Caller } from '../../http/input/caller.decorator';
import type { AnyRecordKind, GovernedRow, RecordKind } from '../../ledger/kinds/record-kind';
import { RecordReader } from '../../ledger/reading/record-reader';
import { LedgerService } from '../../ledger/ledger.service';
import { AGENT } from '../../governance/agents/agent.entity';
import { DECISION } from '../../governance/decisions/decision.entity';
import { CLAIM } from '../../governance/entities/claim.entity';
import { ENTITY } from '../../governance/entities/governed-entity.entity';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import { POLICY } from '../../governance/policies/policy.entity';

const HEALTH_STATUSES = ['healthy', 'unhealthy'] as const;

class HealthResponse {
  @ApiProperty({ enum: HEALTH_STATUSES, enumName: 'HealthStatus', example: 'healthy' })
  readonly status!: (typeof HEALTH_STATUSES)[number];

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly timestamp!: string;
}

export class StatisticsResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly entities!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly claims!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 2 })
  readonly agents!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly decisions!: number;

  @ApiCount('All versions of all policies.')
  readonly policies!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 7 })
  readonly provenanceEntries!: number;

  @ApiMember(
    'Records of modules that were added to the service, by the name of their counter; absent if there are none.',
    { type: 'object', additionalProperties: { type: 'integer', minimum: 0 }, selfRequired: false },
  )
  readonly modules?: Readonly<Record<string, number>>;
}

/** Most milliseconds for an answer of the database. */
const DATABASE_TIMEOUT_MS = 2_000;

@ApiTags('Health')
@Controller('health')
@Public()
@RateLimitBucket('health')
export class HealthController {
  private readonly logger = new Logger('Health');

  constructor(private readonly ledger: LedgerService) {}

  @Get()
  @ApiRoute('Check whether the service can do its work', 'Healthy means that a write would succeed.')
  @Answers({ type: HealthResponse, description: 'A write would succeed.' })
  @ApiResponse({ status: 503, type: HealthResponse, description: 'A write would fail.' })
  async get(@Res({ passthrough: true }) response: Response): Promise<HealthResponse> {
    return answer(response, await this.isHealthy());
  }

  @Get('live')
  @ApiRoute('Check that the process answers', 'Does not check the database: a restart would not fix that.')
  @Answers({ type: HealthResponse, description: 'The process answers.' })
  live(@Res({ passthrough: true }) response: Response): HealthResponse {
    return answer(response, true);
  }

  /** During shutdown, the shutdown guard answers 503 instead. */
  @Get('ready')
  @ApiRoute('Check whether requests should be sent here', 'Like `GET /health`, but also 503 while the service stops.')
  @Answers({ type: HealthResponse, description: 'A write would succeed.' })
  @ApiResponse({ status: 503, type: HealthResponse, description: 'A write would fail, or the service is stopping.' })
  async ready(@Res({ passthrough: true }) response: Response): Promise<HealthResponse> {
    return answer(response, await this.isHealthy());
  }

  /** True if a write would probably succeed. */
  private async isHealthy(): Promise<boolean> {
    return this.ledger.isHealthy && (await withTimeout(this.databaseAnswers(), DATABASE_TIMEOUT_MS, false));
  }

  private async databaseAnswers(): Promise<boolean> {
    try {
      await this.ledger.check();
      return true;
    } catch (error) {
      this.logger.error(`The database does not answer as it should: ${String(error)}`);
      return false;
    }
  }
}

function answer(response: Response, isHealthy: boolean): HealthResponse {
  if (!isHealthy) response.status(HttpStatus.SERVICE_UNAVAILABLE);
  return { status: isHealthy ? 'healthy' : 'unhealthy', timestamp: new Date().toISOString() };
}

const COUNTED: readonly AnyRecordKind[] = [ENTITY, CLAIM, AGENT, DECISION, POLICY];
const COUNTERS = COUNTED.map((kind) => kind.counter);

@ApiTags('Health')
@Controller('stats')
export class StatisticsController {
  private readonly moduleCounters: readonly string[];

  constructor(
    private readonly counters: CounterReader,
    private readonly reader: RecordReader,
    catalog: RecordCatalog,
  ) {
    this.moduleCounters = [...catalog.all].flatMap(({ kind }) => (kind.isInStatistics === true ? kind.counter : []));
  }

  @Get()
  @RequiresScope('read')
  @ApiRoute(
    'Count the records of the service',
    'Totals as of one moment. A key with a team counts the records it sees, not all at one moment, and no entries.',
  )
  @Answers({ type: StatisticsResponse, description: 'The counts.' })
  async count(@Caller() caller: Caller): Promise<StatisticsResponse> {
    if (caller.team !== undefined) return this.countFor(caller);
    const { records, entries } = await this.counters.read([...COUNTERS, ...this.moduleCounters]);
    const [entities = 0, claims = 0, agents = 0, decisions = 0, policies = 0, ...others] = records;
    const modules = Object.fromEntries(this.moduleCounters.map((name, index) => [name, others[index] ?? 0]));
    return {
      entities,
      claims,
      agents,
      decisions,
      policies,
      provenanceEntries: entries,
      ...(others.length > 0 && { modules }),
    };
  }

  /** Counts the records that a caller of a team sees. */
  private async countFor(caller: Caller): Promise<StatisticsResponse> {
    const totalOf = async (kind: AnyRecordKind): Promise<number> => {
      const request = { conditions: [], limit: 1, offset: 0, order: 'asc', position: null, total: null } as const;
      return (await this.reader.page(kind as RecordKind<GovernedRow>, request, caller)).total;
    };
    const [entities = 0, claims = 0, agents = 0, decisions = 0, policies = 0] = await Promise.all(COUNTED.map(totalOf));
    return { entities, claims, agents, decisions, policies, provenanceEntries: 0 };
  }
}
