import{l as e}from"./chunk.ZA3Y4VEA.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
