import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AnyScope } from '../http/request/route-marks';
import { Caller } from '../http/pipeline/caller.decorator';
import { MeResponse } from './dto/me.response';

@ApiTags('API keys')
@AnyScope()
@Controller('me')
export class MeController {
  @Get()
  @ApiOperation({ summary: 'Tell who you are', description: 'What your key or token lets you do, and as whom.' })
  @ApiOkResponse({ type: MeResponse, description: 'The caller.' })
  get(@Caller() caller: Caller): MeResponse {
    return MeResponse.of(caller);
  }
}
