import{l as e}from"./chunk.K7PGV2D3.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
