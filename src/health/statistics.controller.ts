import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AGENT } from '../agents/agent.kind';
import { DECISION } from '../decisions/decision.kind';
import { CLAIM } from '../entities/claim.kind';
import { ENTITY } from '../entities/entity.kind';
import { CounterReader } from '../ledger/counter-reader';
import { POLICY } from '../policies/policy.kind';
import { StatisticsResponse } from './dto/statistics.response';

const COUNTERS = [ENTITY, CLAIM, AGENT, DECISION, POLICY].map((kind) => kind.counter);

@ApiTags('Health')
@Controller('stats')
export class StatisticsController {
  constructor(private readonly counters: CounterReader) {}

  @Get()
  @ApiOperation({ summary: 'Count what the service keeps' })
  @ApiOkResponse({ type: StatisticsResponse, description: 'All counts are of one moment.' })
  async get(): Promise<StatisticsResponse> {
    const { records, entries } = await this.counters.read(COUNTERS);
    const [entities = 0, claims = 0, agents = 0, decisions = 0, policies = 0] = records;
    return { entities, claims, agents, decisions, policies, provenanceEntries: entries };
  }
}
