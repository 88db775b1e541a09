import{a,b,c,d,e}from"./chunk.WNA5BPDO.js";import"./chunk.F3NIZDTZ.js";import"./chunk.35GLESCP.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
